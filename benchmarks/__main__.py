"""Speed and memory, beside peers: all figures of `docs/speed.md`. Run by `make bench`, in a clone.

    python -m benchmarks [--quick] [--only PART]... [--runs N] [--folder DIR] [--write]

Logs and traces are made from real ones, the same each time, in a temporary folder that is removed; they are
in the page cache when they are read. Commands run in turn, whole, from the start of the process to its end,
on one core unless a line says otherwise; figures are medians. `--write` puts them into the documentation.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks import page, peers
from benchmarks.measure import MIB
from benchmarks.parts import PARTS, Plan
from benchmarks.section import BARS, size, table

SPARE = 1 << 30  # bytes of disk and of memory that are left alone


def main() -> None:
    """Measure the parts, tell each as it is done, and write the page."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--quick", action="store_true", help="small logs and three runs: a minute or two")
    options.add_argument("--only", action="append", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    options.add_argument("--runs", type=int, help="how often each command runs (default: 5)")
    options.add_argument("--folder", type=Path, help="where to make the logs (default: the system's)")
    options.add_argument(
        "--write", action="store_true", help="put the figures into docs/ (all parts, not quick)"
    )
    asked = options.parse_args()
    if asked.write and (asked.quick or asked.only):
        options.error("--write is for a whole run")
    if not hasattr(os, "wait4"):
        options.error("this system does not tell what a process cost: take Linux or macOS")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder is removed
    began, load = time.monotonic(), os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:5.0f} s] {text}", flush=True)

    sections = []
    with tempfile.TemporaryDirectory(prefix="fallback-gate-bench-", dir=asked.folder) as folder:
        plan = Plan(Path(folder), say)
        if asked.quick:
            plan = replace(plan, runs=3, sizes=(16, 32, 64, 128), beside=64, dense=16, distinct=20_000)
            plan = replace(plan, files=(8, 8), traces=16, kernels=32, starts=5)
        plan = _that_fits(replace(plan, runs=asked.runs or plan.runs))
        for name in asked.only or PARTS:
            for section in PARTS[name](plan):
                sections.append(section)
                print("\n".join(("", *section.markdown())), flush=True)
    bars = [bar for section in sections for bar in section.bars]
    print("\n".join(table(BARS, [bar.row() for bar in bars])))
    small = " (set for a whole run: in a quick one, start-up is most of the time)" if asked.quick else ""
    say(f"done, {sum(not bar.holds for bar in bars)} of {len(bars)} bars missed{small}")
    if asked.write:
        page.write(page.markdown(sections, _machine(plan.runs, load), plan.curves), plan.curves)
        say(f"written: {page.PAGE}, {page.PLOT}")


def _that_fits(plan: Plan) -> Plan:
    """The plan, without the sizes that memory can't keep in its cache. Ends where the disk is too small."""
    if (need := plan.most + SPARE) > (free := shutil.disk_usage(plan.folder).free):
        raise SystemExit(
            f"{plan.folder.parent} has {size(free)} free, and the logs need {size(need)}: "
            "name another with --folder, or take --quick"
        )
    if not hasattr(os, "sysconf"):
        return plan
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fits = tuple(mib for mib in plan.sizes if 1.5 * mib * MIB + SPARE < memory) or plan.sizes[:1]
    if fits != plan.sizes:
        plan.say(f"logs over {size(fits[-1] * MIB)} are left out: memory would not keep them in its cache")
    return replace(plan, sizes=fits, beside=min(plan.beside, fits[-1]))


def _machine(runs: int, load: float) -> str:
    """On what it was measured, and with which peers."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    busy = f" **The machine was busy (load {load:.1f}): ratios are what counts.**" if load > 0.5 else ""
    return (
        f"Measured on {os.cpu_count()} cores ({platform.machine()}, {memory / (1 << 30):.0f} GiB of memory, "
        f"{platform.system()}, Python {platform.python_version()}), beside ripgrep {peers.version('rg')}, "
        f"GNU grep {peers.version('grep')} and tlparse {peers.version('tlparse')}. Medians of {runs} runs or "
        f"more.{busy}"
    )


if __name__ == "__main__":
    main()
