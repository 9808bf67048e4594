"""The fault drill: the gate is killed at random moments while it writes, and no file is torn or lost.

Half of them are steps at which it opens, renames or removes a file, known by Python's audit events: it is killed
before the step. The others are moments behind such a step, in the midst of what it writes.

`python -m tests.fault_drill 200` (`make fault-drill`) kills that often; the tests do it a few times. A report, a
baseline and a policy are the old ones or the new ones, to the byte. A recording that was cut never passes. What a
killed run leaves beside them is hidden and ends in `.part`.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.bad_files import CLEAN, put
from tests.compilers.lines import clean

GATE = [sys.executable, "-m", "fallback_gate"]
KILLED = """
import atexit, os, signal, sys
at, delay = int(os.environ["DRILL_AT"]), float(os.environ["DRILL_DELAY"])
seen = 0
def hook(event, args):
    global seen
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
    if not writes and event not in ("os.rename", "os.remove", "os.chmod", "os.mkdir"):
        return
    if seen == at and delay:
        signal.setitimer(signal.ITIMER_REAL, delay)
    elif seen == at:
        os.kill(os.getpid(), signal.SIGKILL)
    seen += 1
sys.addaudithook(hook)
atexit.register(lambda: print("steps", seen, file=sys.stderr))
from fallback_gate.__main__ import main
main()
"""
EVENTS = 300
TODAY = "2026-11-30"
OLD = b"what stood here before\n"
FORMATS = ("json", "html", "junit", "sarif", "markdown", "text")
REPORTS = tuple(f"r.{name}" for name in FORMATS)


@dataclass
class Writing:
    """One command that writes: its words and the files that it writes. `sound` says whether what is there after
    a kill may be there; by default it is the old or the new, to the byte."""

    words: list[str]
    files: tuple[str, ...]
    sound: Callable[[Path], bool] | None = None
    old: bytes | None = OLD  # None: it never takes the place of another
    whole: dict[str, bytes] = field(default_factory=dict)  # what a run that nobody kills leaves
    steps: int = 0  # it opens for writing, renames, removes so often
    longest: float = 0.003  # seconds behind such a step in which it is killed


def recorded(folder: Path) -> bool:
    """A recording is whole, or proves nothing; and a command of before is not taken for it."""
    log = folder / "c.log"
    if not log.exists() or log.read_bytes() == OLD:
        return True
    done = subprocess.run(
        [*GATE, "check", "c.log", "-q"], cwd=folder, capture_output=True, env=environ(), timeout=60
    )
    is_whole = b"fallback_gate_trailer" in log.read_bytes().splitlines()[-1] if log.stat().st_size else False
    return done.returncode == 3 or (done.returncode == 0 and is_whole)


def writings(more: bytes) -> dict[str, Writing]:
    """What is killed; `more` is a baseline that an update makes tighter."""
    reports = [word for name in FORMATS for word in ("-o", f"{name}=r.{name}")]
    program = "import sys; sys.stdout.write(open('clean.log').read()); sys.stdout.flush()"
    return {
        "reports": Writing(["check", "a.log", "--today", TODAY, *reports], REPORTS),
        "baseline": Writing(
            ["baseline", "update", "a.log", "-b", "b.json", "--today", TODAY], ("b.json",), old=more
        ),
        "policy": Writing(
            ["policy", "init", "a.log", "-o", "p.yaml", "--today", TODAY], ("p.yaml",), old=None
        ),
        "recording": Writing(
            ["record", "--log", "c.log", "--", sys.executable, "-c", program], ("c.log",), recorded
        ),
    }


def environ() -> dict[str, str]:
    """The same at each run: reports show a time."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FALLBACK_GATE")}
    return kept | {"SOURCE_DATE_EPOCH": "1796000000", "PYTHONPATH": str(Path(__file__).parent.parent)}


def start(
    writing: Writing, folder: Path, at: int = -1, delay: float = 0.0
) -> subprocess.CompletedProcess[bytes]:
    """Run it in a folder where its files are the old ones; it is killed at a step, or so many seconds behind it."""
    for path in folder.glob(".*.part"):
        path.unlink()
    for name in writing.files:
        if writing.old is None:
            (folder / name).unlink(missing_ok=True)
        else:
            (folder / name).write_bytes(writing.old)
    told = {"DRILL_AT": str(at), "DRILL_DELAY": repr(delay), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", KILLED, *writing.words],
        cwd=folder,
        env=environ() | told,
        capture_output=True,
        timeout=120,
    )


def measure(writing: Writing, folder: Path) -> None:
    """Run it without a kill, for what it writes and in how many steps."""
    done = start(writing, folder)
    assert done.returncode in (0, 1, 3), done.stderr
    writing.steps = int(done.stderr.rsplit(b"steps ", 1)[1])
    writing.whole = {name: (folder / name).read_bytes() for name in writing.files}
    assert writing.sound or writing.old not in writing.whole.values(), f"{writing.words} wrote nothing"


def kill(writing: Writing, folder: Path, chance: random.Random) -> str:
    """Kill it at a random step of its writing, or a moment behind it. What became of it."""
    delay = chance.choice((0.0, chance.uniform(1e-6, writing.longest)))
    ended = start(writing, folder, chance.randrange(writing.steps), delay).returncode
    if writing.sound:
        assert writing.sound(folder), f"{writing.words}: torn or passing after a kill"
    for name in writing.files if not writing.sound else ():
        there = (folder / name).read_bytes() if (folder / name).exists() else None
        assert there in (writing.whole[name], writing.old), (
            f"{name} is torn or lost: {there and len(there)} bytes"
        )
    left = [path.name for path in folder.glob("*.part") if not path.name.startswith(".")]
    assert not left, left
    if ended >= 0:
        return "ended before"
    if list(folder.glob(".*.part")):
        return "killed with a part written"
    new = [
        name
        for name in writing.files
        if (folder / name).exists() and (folder / name).read_bytes() == writing.whole[name]
    ]
    return f"killed with {'all' if len(new) == len(writing.files) else len(new) or 'none'} in place"


def drill(times: int, seed: int = 0) -> dict[str, Counter[str]]:
    """Kill each in turn, that often in all; raises `AssertionError` for a file that is torn or lost."""
    folder, chance = Path(tempfile.mkdtemp(prefix="fallback-gate-drill-")), random.Random(seed)
    try:
        (folder / ".git").mkdir()
        put(folder, "clean.log", CLEAN)
        for name, count in (("more.log", 2 * EVENTS), ("a.log", EVENTS)):
            calls = (f"buf{at} = torch.ops.acme.op{at}.default(buf0)" for at in range(count))
            put(folder, name, "".join(line + "\n" for line in clean(*calls)))
        create = ["baseline", "create", "more.log", "-o", "more.json", "--today", TODAY]
        subprocess.run([*GATE, *create], cwd=folder, env=environ(), capture_output=True, check=False)
        some = writings((folder / "more.json").read_bytes())
        for writing in some.values():
            measure(writing, folder)
        became = {name: Counter[str]() for name in some}
        for at in range(times):
            name = list(some)[at % len(some)]
            became[name][kill(some[name], folder, chance)] += 1
        for name, writing in some.items():  # and after all that, the next run finds nothing in its way
            assert start(writing, folder).returncode in (0, 1, 3), name
            if not writing.sound:
                assert {f: (folder / f).read_bytes() for f in writing.files} == writing.whole
        return became
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for name, became in drill(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0).items():
        print(f"{name}: {sum(became.values())} kills, {dict(became)}; nothing torn, nothing lost")
