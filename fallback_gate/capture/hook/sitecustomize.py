"""The side door: Python loads this at start-up in every process of a recorded run, before the user's code.

`record` puts this folder in front of PYTHONPATH. It starts the hook, which writes one closing record a
process (see `_fallback_gate_hook`), and then runs the sitecustomize that Python would have loaded without it.
It runs in the user's own Python (3.8 or later), needs only the standard library, and never stops a run.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def _load() -> None:
    """Start the hook; a line on stderr where that fails."""
    if not os.environ.get("FALLBACK_GATE_RECORD_DIR"):
        return
    try:
        import_module("_fallback_gate_hook").start()
    except Exception as problem:
        if sys.stderr is not None:
            sys.stderr.write(
                f"fallback-gate: this process ({os.getpid()}) leaves no closing record, and runs on: "
                f"{type(problem).__name__}: {problem}\n"
            )


def _run_next() -> None:
    """Take this folder off the search path, and run the sitecustomize behind it."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_load()
_run_next()
