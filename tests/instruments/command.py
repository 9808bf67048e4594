"""The real command in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TRACES = Path(__file__).parents[2] / "sample_traces"
LOGS = Path(__file__).parents[2] / "sample_logs" / "moe-decoder-h200"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`python -m fallback_gate` without the caller's settings."""
    (folder / ".git").mkdir(exist_ok=True)
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("FALLBACK_GATE", "FORCE_COLOR", "CLICOLOR"))
    }
    command = [sys.executable, "-m", "fallback_gate", *arguments]
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, timeout=120)
