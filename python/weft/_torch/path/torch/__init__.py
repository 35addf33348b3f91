"""What a process finds that was spawned by one with install_as_torch(): it does the same, and this module is replaced."""

__weft__ = True

import weft

weft.install_as_torch()
