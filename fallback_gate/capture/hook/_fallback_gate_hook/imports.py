"""The side door: call a function when a module was imported, for one dictionary look-up an import."""

from __future__ import annotations

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any, Callable


class _Finder:
    """Lets the other finders find the module, and has its loader tell when it is done."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callable[[ModuleType], None]]] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module that is waited for, from whoever finds it; None for any other."""
        if name not in self.waiting:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self._tell(name, spec.loader)
                return spec
        return None

    def _tell(self, name: str, loader: Any) -> None:
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            original(module)
            for call in self.waiting.pop(name, []):
                _call(call, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            del self.waiting[name]


_FINDER = _Finder()


def after(name: str, call: Callable[[ModuleType], None]) -> None:
    """Call with the module once it is imported; at once where it is already."""
    module = sys.modules.get(name)
    if module is not None:
        _call(call, module)
        return
    _FINDER.waiting.setdefault(name, []).append(call)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def forget() -> None:
    """Wait for no module any more."""
    _FINDER.waiting.clear()
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def _call(call: Callable[[ModuleType], None], module: ModuleType) -> None:
    try:
        call(module)
    except Exception as problem:
        if sys.stderr is not None:
            sys.stderr.write(
                f"fallback-gate: {module.__name__} is not watched in this process, which runs on: "
                f"{type(problem).__name__}: {problem}\n"
            )
