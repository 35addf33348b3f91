"""weft.utils.data.distributed: DistributedSampler."""

from .sampler import DistributedSampler as DistributedSampler
