"""Neural networks: modules that hold parameters. weft.nn.functional has the arithmetic, weft.nn.init the initial values."""

from . import functional, init, utils
from .activations import ELU, GELU, SELU, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, ReLU, ReLU6
from .activations import Sigmoid, SiLU, Softmax, Softplus, Softsign, Tanh, Tanhshrink
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .layers import (
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Bilinear,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    MaxPool2d,
    RMSNorm,
    Unflatten,
)
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
from .parameter import Parameter
