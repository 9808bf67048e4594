"""What the tests of the side door share: recording a command with the real front door, and judging a log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CLEAN = Path(__file__).parents[1] / "data" / "clean.2.9.1.log"
_OURS = ("FALLBACK_GATE", "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "TORCH", "TRITON", "RANK", "WORLD_SIZE")


def environment(**variables: str) -> dict[str, str]:
    """Our own environment without what would change a recording, and these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**kept, **variables}


def run(
    folder: Path, *arguments: str, variables: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """`python -m fallback_gate` in a folder."""
    (folder / ".git").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "fallback_gate", *arguments],
        cwd=folder,
        env=environment(**(variables or {})),
        input=stdin,
        capture_output=True,
        timeout=120,
    )


def record(
    folder: Path,
    program: str,
    *options: str,
    variables: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Record a Python program, given as its source."""
    return run(
        folder, "record", *options, "--", sys.executable, "-c", program, *arguments, variables=variables
    )


PRINT_CLEAN = f"import sys; sys.stdout.buffer.write(open({str(CLEAN)!r}, 'rb').read())"
