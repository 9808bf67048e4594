"""The side door: kernels that Triton's interpreter runs in Python, in place of compiling them.

`TRITON_INTERPRET=1` makes `@triton.jit` give such functions; no log says so. Seen in 3.8.
"""

from __future__ import annotations

from types import ModuleType

from . import patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any

MOST = 200
_RUN: dict[tuple[str, str, int], int] = {}  # how often each kernel ran
_TOTAL = [0]


def watch(interpreter: ModuleType) -> None:
    """Note each kernel that is run."""
    original = interpreter.InterpretedFunction.run

    def run(self: Any, *arguments: Any, **named: Any) -> Any:
        if not named.get("warmup"):
            use.used()
            _TOTAL[0] += 1
            code = getattr(self.fn, "__code__", None)
            place = getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0)
            kernel = (str(getattr(self.fn, "__name__", "")), *place)
            if kernel in _RUN or len(_RUN) < MOST:
                _RUN[kernel] = _TOTAL[0]
        return original(self, *arguments, **named)

    patches.put(interpreter.InterpretedFunction, "run", run)


def baseline() -> int:
    """How many runs there were before."""
    return _TOTAL[0]


def facts(since: int | None = None) -> dict[str, Any] | None:
    """The kernels that ran since; None where none did."""
    ran = [kernel for kernel, last in _RUN.items() if last > (since or 0)]
    if not ran:
        return None
    return {"interpreted": [{"name": name, "file": file, "line": line} for name, file, line in ran]}
