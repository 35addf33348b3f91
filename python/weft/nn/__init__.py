"""Neural networks: modules that hold parameters. weft.nn.functional has the arithmetic, weft.nn.init the initial values."""

from . import functional, init, utils
from ._summary import summary
from .activations import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    RReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from .attention import MultiheadAttention, TransformerEncoder, TransformerEncoderLayer
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .embedding import Embedding, EmbeddingBag
from .images import (
    ChannelShuffle,
    Fold,
    PixelShuffle,
    PixelUnshuffle,
    Unfold,
    Upsample,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)
from .linear import Bilinear, Dropout, Dropout1d, Dropout2d, Dropout3d, Flatten, Identity, Linear, Unflatten
from .losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    FocalLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    LogCoshLoss,
    MSELoss,
    MarginRankingLoss,
    NLLLoss,
    PairwiseDistance,
    PoissonNLLLoss,
    SigmoidFocalLoss,
    SmoothL1Loss,
    TripletMarginLoss,
)
from .module import Module
from .norm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    RMSNorm,
)
from .padding import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
)
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell

# Loaded when they are first used, so that `import weft` stays quick: name → module.
_LATER = {
    "DataParallel": "parallel",
    **dict.fromkeys(("Transformer", "TransformerDecoder", "TransformerDecoderLayer"), "transformer"),
    **dict.fromkeys((
        "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
        "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
        "LazyInstanceNorm3d", "LazyLinear"
    ), "lazy"),
    **dict.fromkeys((
        "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxUnpool1d", "MaxUnpool2d",
        "MaxUnpool3d"
    ), "unpooling"),
    **dict.fromkeys((
        "AlphaDropout", "FeatureAlphaDropout", "LocalResponseNorm", "SyncBatchNorm"
    ), "response_norm"),
    **dict.fromkeys((
        "AdaptiveLogSoftmaxWithLoss", "CTCLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
        "NLLLoss2d", "SoftMarginLoss", "TripletMarginWithDistanceLoss"
    ), "margin_losses"),
}  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .lazy import (
        LazyBatchNorm1d as LazyBatchNorm1d, LazyBatchNorm2d as LazyBatchNorm2d, LazyBatchNorm3d as LazyBatchNorm3d, LazyConv1d
        as LazyConv1d, LazyConv2d as LazyConv2d, LazyConv3d as LazyConv3d, LazyConvTranspose1d as LazyConvTranspose1d,
        LazyConvTranspose2d as LazyConvTranspose2d, LazyConvTranspose3d as LazyConvTranspose3d, LazyInstanceNorm1d as
        LazyInstanceNorm1d, LazyInstanceNorm2d as LazyInstanceNorm2d, LazyInstanceNorm3d as LazyInstanceNorm3d, LazyLinear as
        LazyLinear
    )  # fmt: skip
    from .unpooling import (
        FractionalMaxPool2d as FractionalMaxPool2d, FractionalMaxPool3d as FractionalMaxPool3d, LPPool1d as LPPool1d, LPPool2d
        as LPPool2d, LPPool3d as LPPool3d, MaxUnpool1d as MaxUnpool1d, MaxUnpool2d as MaxUnpool2d, MaxUnpool3d as MaxUnpool3d
    )  # fmt: skip
    from .response_norm import (
        AlphaDropout as AlphaDropout, FeatureAlphaDropout as FeatureAlphaDropout, LocalResponseNorm as LocalResponseNorm,
        SyncBatchNorm as SyncBatchNorm
    )  # fmt: skip
    from .margin_losses import (
        AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss, CTCLoss as CTCLoss, MultiLabelMarginLoss as
        MultiLabelMarginLoss, MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss, MultiMarginLoss as MultiMarginLoss,
        NLLLoss2d as NLLLoss2d, SoftMarginLoss as SoftMarginLoss, TripletMarginWithDistanceLoss as
        TripletMarginWithDistanceLoss
    )  # fmt: skip
    from .transformer import Transformer, TransformerDecoder, TransformerDecoderLayer


def __getattr__(name: str) -> object:
    import importlib

    if name == "parallel":
        return importlib.import_module(".parallel", __name__)
    if name not in _LATER:
        raise AttributeError(f"module 'weft.nn' has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module("." + _LATER[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d",
    "BatchNorm2d", "BatchNorm3d", "Bilinear", "CELU", "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d",
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "Dropout", "Dropout1d", "Dropout2d",
    "Dropout3d", "ELU", "Embedding", "EmbeddingBag", "Flatten", "FocalLoss", "Fold", "GELU", "GLU", "GRU", "GRUCell",
    "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss", "HuberLoss",
    "Identity", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "KLDivLoss", "L1Loss", "LSTM", "LSTMCell",
    "LayerNorm", "LeakyReLU", "Linear", "LogCoshLoss", "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss",
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "Mish", "Module", "ModuleDict", "ModuleList", "MultiheadAttention", "NLLLoss",
    "PReLU", "PairwiseDistance", "Parameter", "ParameterDict", "ParameterList", "PixelShuffle", "PixelUnshuffle",
    "PoissonNLLLoss", "RMSNorm", "RNN", "RNNCell", "RReLU", "ReLU", "ReLU6", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "SELU", "Sequential", "SiLU", "Sigmoid", "SigmoidFocalLoss",
    "SmoothL1Loss", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "Threshold", "TransformerEncoder", "TransformerEncoderLayer", "TripletMarginLoss", "Unflatten", "Unfold", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d", "functional", "init", "summary",
    "utils",
    "AdaptiveLogSoftmaxWithLoss", "AlphaDropout", "CTCLoss", "FeatureAlphaDropout", "FractionalMaxPool2d",
    "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "LocalResponseNorm", "MaxUnpool1d",
    "MaxUnpool2d", "MaxUnpool3d", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss2d",
    "RNNBase", "SoftMarginLoss", "SyncBatchNorm", "Transformer", "TransformerDecoder", "TransformerDecoderLayer",
    "TripletMarginWithDistanceLoss", "UninitializedBuffer", "UninitializedParameter",
]  # fmt: skip
