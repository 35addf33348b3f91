"""SummaryWriter: values of a training run as files that TensorBoard shows."""

from __future__ import annotations

import os
import time

from ..._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self


def _array(values: Any) -> Any:
    import numpy

    return values.detach().numpy() if isinstance(values, Tensor) else numpy.asarray(values)


def _number(value: Any) -> float:
    return float(value.item() if isinstance(value, Tensor) else value)


class SummaryWriter:
    """Writes scalars, histograms, images and texts for TensorBoard: `tensorboard --logdir runs`.

    >>> writer = SummaryWriter("runs/first")
    >>> writer.add_scalar("loss", loss, step)
    """

    def __init__(self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
                 filename_suffix: str = "") -> None:  # fmt: skip
        try:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError as error:
            raise ImportError("SummaryWriter(): the package tensorboard is not installed; install it with pip install tensorboard") from error
        if log_dir is None:
            import socket

            log_dir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self._make = lambda folder: EventFileWriter(folder, max_queue, flush_secs, filename_suffix)
        self._writers: dict[str, Any] = {"": self._make(self.log_dir)}

    def _write(self, value: Any, step: int | None, walltime: float | None, folder: str = "") -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        if folder not in self._writers:
            self._writers[folder] = self._make(os.path.join(self.log_dir, folder))
        event = Event(wall_time=walltime or time.time(), summary=Summary(value=[value]))
        if step is not None:
            event.step = int(step)
        self._writers[folder].add_event(event)

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, new_style: bool = False,
                   double_precision: bool = False) -> None:  # fmt: skip
        """A number at a step."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._write(Summary.Value(tag=tag, simple_value=_number(scalar_value)), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Several numbers in one chart."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        for tag, value in tag_scalar_dict.items():
            folder = f"{main_tag}_{tag}".replace("/", "_")
            self._write(Summary.Value(tag=main_tag, simple_value=_number(value)), global_step, walltime, folder)

    def add_histogram(self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: float | None = None,
                      max_bins: int | None = None) -> None:  # fmt: skip
        """How values are spread."""
        import numpy
        from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

        array = _array(values).astype("float64").reshape(-1)
        counts, limits = numpy.histogram(array, bins=64 if bins == "tensorflow" else bins)
        histogram = HistogramProto(min=array.min(), max=array.max(), num=array.size, sum=array.sum(), sum_squares=array.dot(array),
                                   bucket_limit=limits[1:].tolist(), bucket=counts.tolist())  # fmt: skip
        self._write(Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW") -> None:
        """A picture: floats from 0 to 1, or bytes."""
        import io

        import numpy
        from tensorboard.compat.proto.summary_pb2 import Summary

        array, layout = _array(img_tensor), dataformats.upper()
        if len(layout) != array.ndim:
            raise ValueError(f"add_image(): a picture of shape {tuple(array.shape)} does not have the axes {dataformats!r}")
        array = array[..., None] if "C" not in layout else array
        array = numpy.transpose(array, [(layout + "C" * ("C" not in layout)).index(axis) for axis in "HWC"])
        if array.dtype != numpy.uint8:
            array = (array.astype("float64") * 255).clip(0, 255).astype("uint8")
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("add_image(): the package Pillow is not installed; install it with pip install pillow") from error
        file = io.BytesIO()
        Image.fromarray(array[..., 0] if array.shape[2] == 1 else array).save(file, format="PNG")
        image = Summary.Image(height=array.shape[0], width=array.shape[1], colorspace=array.shape[2], encoded_image_string=file.getvalue())
        self._write(Summary.Value(tag=tag, image=image), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW") -> None:
        """Several pictures, beside each other."""
        import numpy

        array = _array(img_tensor)
        array = numpy.moveaxis(array, dataformats.upper().index("N"), 0)
        rest = dataformats.upper().replace("N", "")
        self.add_image(tag, numpy.concatenate(list(array), axis=rest.index("W")), global_step, walltime, rest)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """A text."""
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        tensor = TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]))
        self._write(Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor), global_step, walltime)

    def add_hparams(self, hparam_dict: Any, metric_dict: Any, *_: Any, **__: Any) -> None:
        """Settings of a run with its results."""
        self.add_text("hparams", "\n".join(f"{name}: {value}" for name, value in hparam_dict.items()))
        for name, value in metric_dict.items():
            self.add_scalar(name, value)

    def add_graph(self, model: Any, input_to_model: Any = None, *_: Any, **__: Any) -> None:
        """Writes nothing: weft.explain shows a program's graph."""

    def flush(self) -> None:
        """Writes what is waiting."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Writes what is waiting, and closes the files."""
        for writer in self._writers.values():
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
