"""Fuzzing: `python -m tests.fuzz [TARGET]... --seconds N`, for a given time each; `make fuzz` runs it.

Where atheris is installed, its engine is led by the coverage of `fallback_gate`; else inputs are mutations of the
seeds alone, and the figures say so. A finding is kept, with its input and traceback, and the run goes on: what
fails at the same line is one finding. Ends with 1 where there is any.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEMORY = 3 << 30  # bytes of address space
HANG = 60  # seconds for one input after which atheris ends the run


@dataclass
class Session:
    """One run over one target: what was tried, and what was found."""

    name: str
    folder: Path
    feed: Any
    led: bool = False  # by coverage
    executions: int = 0
    written: float = 0.0  # at which CPU second the figures were
    findings: dict[str, str] = field(default_factory=dict)

    def one(self, data: bytes) -> None:
        """Feed one input."""
        self.executions += 1
        try:
            self.feed(data)
        except Exception as wrong:
            self._keep(data, wrong)
        if time.process_time() > self.written + 2:
            self.write()

    def _keep(self, data: bytes, wrong: Exception) -> None:
        frames = traceback.extract_tb(wrong.__traceback__)
        ours = [frame for frame in frames if "fallback_gate" in frame.filename] or frames
        first = str(wrong).splitlines()[0][:60] if isinstance(wrong, AssertionError) and str(wrong) else ""
        where = f"{type(wrong).__name__} {Path(ours[-1].filename).name}:{ours[-1].lineno} {frames[-1].name} {first}"
        key = hashlib.sha256(where.encode()).hexdigest()[:12]
        kept = self.folder / f"{key}.input"
        if key not in self.findings or len(data) < kept.stat().st_size:
            kept.write_bytes(data)
            text = "".join(traceback.format_exception(wrong))
            (self.folder / f"{key}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
        if key not in self.findings:
            print(f"{self.name}: {where}", flush=True)
        self.findings[key] = where
        self.write()

    def write(self) -> None:
        """Keep the figures: atheris ends the process without a word."""
        self.written = used = time.process_time()
        figures = {
            "target": self.name,
            "led": self.led,
            "executions": self.executions,
            "cpu_seconds": round(used, 1),
            "findings": self.findings,
        }
        part = self.folder / "figures.part"
        part.write_text(json.dumps(figures, indent=1), encoding="utf-8")
        os.replace(part, self.folder / "figures.json")


def main() -> int:
    """Run the targets in turn, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="all, if none is named")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="mutations of the seeds alone, without atheris")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--input", type=Path, help="feed this one file to the target, and nothing else")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return worker(given)
    from tests.fuzz.targets import TARGETS

    if unknown := [name for name in given.targets if name not in TARGETS]:
        parser.error(f"no such target: {', '.join(unknown)}; there are: {', '.join(TARGETS)}")
    if given.input:
        TARGETS[given.targets[0]].feed(given.input.read_bytes())
        return 0
    return max([_ran(name, given) for name in given.targets or TARGETS])


def _ran(name: str, given: argparse.Namespace) -> int:
    """Run one target, and tell what came of it; 1 where something was found, or the run broke off."""
    folder = given.out / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").unlink(missing_ok=True)
    options = ["--worker", f"--seconds={given.seconds}", f"--seed={given.seed}", f"--out={given.out}"]
    command = [sys.executable, "-m", "tests.fuzz", name, *options, *(["--plain"] if given.plain else [])]
    with open(folder / "log.txt", "wb") as log:
        code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    if not (folder / "figures.json").exists():
        print(f"{name}: the run broke off with exit status {code}; see {folder / 'log.txt'}", flush=True)
        return 1
    said = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    engine = "atheris" if said["led"] else "mutations of the seeds alone"
    figures = f"{said['executions']:,} inputs in {said['cpu_seconds']:.0f} CPU seconds by {engine}"
    print(f"{name}: {figures}, {len(said['findings'])} findings", flush=True)
    for key, where in said["findings"].items():
        print(f"  {where}\n  python -m tests.fuzz {name} --input {folder / key}.input", flush=True)
        packed = base64.b64encode(gzip.compress((folder / f"{key}.input").read_bytes(), mtime=0)).decode()
        print(f"  base64 -d <<< {packed} | gunzip", flush=True)
    return int(bool(said["findings"]) or code not in (0, 1))


def worker(given: argparse.Namespace) -> int:
    """Feed one target."""
    engine = None
    if not given.plain:
        with suppress(ImportError):
            import atheris as engine
    if engine:
        with engine.instrument_imports(include=["fallback_gate"], enable_loader_override=False):
            from tests.fuzz import targets
    else:
        from tests.fuzz import targets
    (name,) = given.targets
    target = targets.TARGETS[name]
    session = Session(name, given.out / name, target.feed, led=engine is not None)
    seeds = target.seeds()
    _limit_memory()
    session.write()
    if engine:
        _led(engine, session, target, seeds, given)
    chance, ends = random.Random(given.seed), time.monotonic() + given.seconds
    while time.monotonic() < ends:
        session.one(targets.mutated(target, chance, chance.choice(seeds)))
    session.write()
    return 0


def _limit_memory() -> None:
    """An input that takes more is a finding: `MemoryError`."""
    try:
        import resource
    except ImportError:
        return  # Windows
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


def _led(engine: Any, session: Session, target: Any, seeds: Any, given: argparse.Namespace) -> None:
    """Led by coverage: most inputs are mutated line by line, some as the engine likes."""
    from tests.fuzz import targets
    from tests.fuzz.mutate import LARGEST

    corpus = session.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed[:LARGEST])

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.2:
            return bytes(engine.Mutate(data, most))
        base = data if chance.random() < 0.8 else chance.choice(seeds)
        return bytes(targets.mutated(target, chance, bytes(base))[:most])

    arguments = [
        sys.argv[0], str(corpus), f"-max_total_time={int(given.seconds)}", f"-max_len={LARGEST}",
        f"-timeout={HANG}", f"-rss_limit_mb={MEMORY >> 20}", f"-seed={given.seed or 1}", "-print_final_stats=1",
        f"-artifact_prefix={session.folder}/", "-len_control=0", "-verbosity=0",
    ]  # fmt: skip
    engine.Setup(arguments, session.one, custom_mutator=mutated)
    engine.Fuzz()  # it ends the process


if __name__ == "__main__":
    sys.exit(main())
