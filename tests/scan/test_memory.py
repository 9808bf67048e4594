"""Room 2: a log of any size is read in the same memory. One process, measured by the operating system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PRINT_PEAK = """
import re, resource, sys
from pathlib import Path
from fallback_gate.gate import check
verdict = check([sys.argv[1]])
print(verdict.outcome.value, verdict.findings[0].event.line, verdict.findings[0].event.count)
status = Path("/proc/self/status")  # on Linux ru_maxrss starts at the peak of the process that forked
if status.exists():
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
BLOCK = (
    b"V1130 00:29:06.251000 4674 torch/_dynamo/output_graph.py:1] [0/0] TRACE LOAD_FAST x [] of the noisy kind\n"
    * 9_500
)
RECORD = (
    b"V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:1] [0/0] [__graph_breaks] "
    b"Graph break in user code at /app/a.py:3\n"
)


@pytest.mark.skipif(sys.platform == "win32", reason="resource is of Unix")
@pytest.mark.parametrize("line_feeds", [True, False], ids=["lines", "one endless line"])
def test_resident_memory_stays_under_150_mb(tmp_path: Path, line_feeds: bool) -> None:
    path = tmp_path / "huge.log"
    block = BLOCK if line_feeds else BLOCK.replace(b"\n", b" ")
    with open(path, "wb") as file:
        for _ in range(300_000_000 // len(block)):
            file.write(block)
        file.write(b"\n" + RECORD)
    lines = 1 + (300_000_000 // len(block)) * 9_500 * line_feeds
    done = subprocess.run(
        [sys.executable, "-c", PRINT_PEAK, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    said, peak = done.stdout.splitlines()
    assert said == f"blocked {lines + 1} 1"
    assert int(peak) < 150_000_000
