"""The side door: the machine on which a command is recorded: devices, drivers, packages and their caches.

Best effort, quick and quiet: what can't be told is left out. Devices and drivers come from the vendor's own
tool where it is on the path, else from the files that a driver and a toolkit leave.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fallback_gate.capture import caches
from fallback_gate.capture.found import Installed
from fallback_gate.capture.table import TABLE
from fallback_gate.model.environment import Environment, Version, counted, moment

_SECONDS: Final = 10
_QUERY: Final = ("--query-gpu=name,driver_version", "--format=csv,noheader")
LIBRARIES: Final = (  # whose versions an upgrade changes, beside the compilers of the settings table
    *("nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-cublas-cu12", "nvidia-cublas", "nvidia-nccl-cu12"),
    *("nvidia-nccl-cu13", "flash-attn", "flashinfer-python", "xformers", "transformers", "sglang", "vllm"),
)


def asked() -> list[str]:
    """The packages whose versions are asked for: compilers and runtimes, what fills a cache, libraries."""
    known = [package for stack in TABLE for package in stack.packages]
    return sorted({*known, *caches.packages(), *LIBRARIES})


def environment(
    environ: Mapping[str, str], python: str | None, installed: Mapping[str, Installed]
) -> Environment:
    """What this machine is, as far as it tells."""
    devices, drivers = _nvidia(environ)
    drivers += _files()
    here = [platform.platform(terse=True), *([f"Python {python}"] if python else [])]
    return Environment(
        devices=devices,
        drivers=tuple(drivers),
        compilers=tuple(
            Version(name, one.version, None if one.since is None else moment(one.since))
            for name, one in installed.items()
        ),
        caches=tuple(caches.caches(environ, installed)),
        platform=tuple(here),
    )


def _nvidia(environ: Mapping[str, str]) -> tuple[tuple[str, ...], list[Version]]:
    """NVIDIA's devices, and the driver."""
    tool = shutil.which("nvidia-smi", path=environ.get("PATH"))
    rows: list[list[str]] = []
    if tool is not None:
        try:
            told = subprocess.run(
                [tool, *_QUERY], capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, check=True
            ).stdout.decode("utf-8", "replace")
        except (OSError, subprocess.SubprocessError):
            told = ""
        rows = [line.rsplit(", ", 1) for line in told.splitlines() if ", " in line]
    if not rows:
        names = [_named(path) for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))]
        driver = re.search(r"Kernel Module\s+(?:for \S+\s+)?(\d[\d.]+)", _text("/proc/driver/nvidia/version"))
        rows = [[name, driver[1] if driver else ""] for name in names if name]
    drivers = dict.fromkeys(Version("nvidia", version[:60]) for _, version in rows if version)
    return counted(name[:100] for name, _ in rows), list(drivers)


def _named(path: Path) -> str:
    found = re.search(r"Model:\s+(.+)", _text(str(path)))
    return found[1].strip() if found else ""


_LEFT: Final = (  # name, file, the version in it
    ("amdgpu", "/sys/module/amdgpu/version", r"(\S+)"),
    ("rocm", "/opt/rocm/.info/version", r"(\S+)"),
    ("ascend", "/usr/local/Ascend/driver/version.info", r"Version=(\S+)"),
    ("cann", "/usr/local/Ascend/ascend-toolkit/latest/version.cfg", r"toolkit_running_version=\[?([\w.:]+)"),
)


def _files() -> list[Version]:
    """Drivers and toolkits that leave a file with their version."""
    found = ((name, re.search(pattern, _text(path))) for name, path, pattern in _LEFT)
    return [Version(name, match[1][:60]) for name, match in found if match]


def _text(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""
