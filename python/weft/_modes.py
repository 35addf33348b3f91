"""Whether ops record gradients: context managers that are decorators too."""

import functools

from . import _weft


class set_grad_enabled:
    """Sets whether ops on this thread record gradients: at once, and until a `with` block of it ends.

    >>> with weft.set_grad_enabled(False):
    ...     y = x * 2
    """

    def __init__(self, mode):
        self.mode = bool(mode)
        self.before = [_weft._set_grad_enabled(self.mode)]

    def __enter__(self):
        _weft._set_grad_enabled(self.mode)
        return self

    def __exit__(self, *_):
        _weft._set_grad_enabled(self.before.pop())


class _Mode:
    """A mode that holds inside a `with` block or a decorated function."""

    mode = False

    def __init__(self, function=None):
        self.before = []
        self.function = function
        if function is not None:  # @no_grad without parentheses
            functools.update_wrapper(self, function)

    def __enter__(self):
        self.before.append(_weft._set_grad_enabled(self.mode))
        return self

    def __exit__(self, *_):
        _weft._set_grad_enabled(self.before.pop())

    def __call__(self, *args, **kwargs):
        if self.function is not None:
            with type(self)():
                return self.function(*args, **kwargs)
        (function,) = args

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with type(self)():
                return function(*args, **kwargs)

        return wrapped

    def __get__(self, instance, owner=None):
        return self if instance is None or self.function is None else functools.partial(self, instance)


class no_grad(_Mode):
    """Ops record no gradient: `with weft.no_grad(): …`, or `@weft.no_grad()` above a function."""


class inference_mode(_Mode):
    """The same as no_grad."""


class enable_grad(_Mode):
    """Ops record gradients again, inside a no_grad block."""

    mode = True
