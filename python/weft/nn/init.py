"""Initial values, written into a tensor. Each function returns it."""

from .._weft.init import *  # noqa: F403
from .._weft.init import kaiming_normal_, kaiming_uniform_

he_uniform_, he_normal_ = kaiming_uniform_, kaiming_normal_  # the same under the author's other name
