"""What is measured: our command, and what people use in its place."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Command

HERE = Path(__file__).parent
ANCHORS = HERE / "anchors.txt"
SMALL = HERE.parent / "sample_logs/torch/eager-backend.2.14.1.log"
OURS, RIPGREP, GREP, SCRIPT, CAT = "fallback-gate", "ripgrep", "GNU grep", "first script", "cat"


def tool(name: str) -> str:
    """The path of a program: beside this Python, else where the shell finds it."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise SystemExit(f"{name} is missing: pip install 'fallback-gate[bench]', or ask your system for it")
    return found


def version(name: str) -> str:
    """The version that a program tells, such as `14.1.0`."""
    told = subprocess.run([tool(name), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(?:\.\d+)+", told)
    return found[0] if found else "?"


def gate(*arguments: str | Path, one_core: bool = True) -> Command:
    """Our whole command; exit 3 (unproven) is work done, too."""
    words = [sys.executable, "-m", "fallback_gate", "check", *map(str, arguments), "--quiet"]
    return Command(words, one_core, frozenset({0, 1, 3}))


def kernels(trace: Path) -> Command:
    """Our reading of a kernel trace."""
    return Command([sys.executable, "-m", "fallback_gate", "trace", str(trace)], fine=frozenset({0, 1, 3}))


def ripgrep(log: Path) -> Command:
    """ripgrep on one thread, with 230 literals."""
    return Command([tool("rg"), "-j1", "-a", "-c", "-F", "-f", str(ANCHORS), str(log)])


def grep(log: Path) -> Command:
    """GNU grep with the same literals; where what it prints goes nowhere, it would stop at the first line."""
    words = [tool("grep"), "-a", "-c", "-F", "-f", str(ANCHORS), str(log)]
    return Command(["sh", "-c", '"$@" | cat', "sh", *words])


def first_script(log: Path) -> Command:
    """The script that everybody writes first."""
    return Command([sys.executable, str(HERE / "first_script.py"), str(log)])


def cat(log: Path) -> Command:
    """The log read, and nothing done with it."""
    return Command([tool("cat"), str(log)])


def tlparse(folder: Path, out: Path, *options: str) -> Command:
    """tlparse on a folder of traces, a page for each rank; `out` is removed before each run."""
    words = [tool("tlparse"), str(folder), "--all-ranks-html", "--no-browser", "-o", str(out), *options]
    return Command(words, before=lambda: shutil.rmtree(out, ignore_errors=True))


def imports() -> Command:
    """What a command line of Python takes to start at all: an interpreter with click and yaml."""
    return Command([sys.executable, "-c", "import click, yaml"])
