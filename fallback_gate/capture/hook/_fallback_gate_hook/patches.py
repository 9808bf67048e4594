"""The side door: what is wrapped, so that it can be taken off again."""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any, Callable

_PUT: list[tuple[Any, str, Any, Any]] = []
_ABSENT = object()


def put(owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    """Put a wrapper in place of a function of a class or module; it takes on the function's name."""
    before = vars(owner).get(name, _ABSENT)
    functools.update_wrapper(wrapper, getattr(owner, name))
    _PUT.append((owner, name, before, wrapper))
    setattr(owner, name, wrapper)


def undo() -> None:
    """Take all wrappers off, the last first; one over which somebody put his own stays."""
    while _PUT:
        owner, name, before, wrapper = _PUT.pop()
        if vars(owner).get(name) is not wrapper:
            continue
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
