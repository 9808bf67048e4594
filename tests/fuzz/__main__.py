"""Fuzzing: `python -m tests.fuzz TARGET SECONDS`, for a given time; `make fuzz` runs it.

Where atheris is installed, its engine is led by the coverage of `fallback_gate`; else inputs are mutations of the
seeds alone, which the first line says. A finding is kept, with its input and traceback, and the run goes on: what
fails at the same line is one finding. Ends with 1 where there is any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEMORY = 2 << 30  # bytes of address space over what the start takes
HANG = 60  # seconds for one input after which atheris ends the run


@dataclass
class Session:
    """One run over one target: what was tried, and what was found."""

    name: str
    folder: Path
    feed: Any
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
            print(f"{self.name}: {where}; its input is {kept}", flush=True)
        self.findings[key] = where
        self.write()

    def write(self) -> None:
        """Keep the figures: atheris ends the process without a word."""
        self.written = used = time.process_time()
        figures = {
            "target": self.name,
            "executions": self.executions,
            "cpu_seconds": round(used, 1),
            "findings": sorted(self.findings.values()),
        }
        part = self.folder / "figures.part"
        part.write_text(json.dumps(figures, indent=1), encoding="utf-8")
        os.replace(part, self.folder / "figures.json")


def main() -> int:
    """Run one target; without atheris where `--plain` says so or it is not there."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="mutations of the seeds alone, without atheris")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--input", type=Path, help="feed this one file, and nothing else")
    given = parser.parse_args()
    engine = None
    if not given.plain and given.input is None:
        try:
            import atheris as engine
        except ImportError:
            print(
                "atheris is not installed: inputs are mutations of the seeds, not led by coverage", flush=True
            )
    if engine:
        with engine.instrument_imports(include=["fallback_gate"], enable_loader_override=False):
            from tests.fuzz import targets
    else:
        from tests.fuzz import targets
    if given.target not in targets.TARGETS:
        parser.error(f"no such target; there are: {', '.join(targets.TARGETS)}")
    target = targets.TARGETS[given.target]
    if given.input:
        target.feed(given.input.read_bytes())
        return 0
    folder = given.out / given.target
    folder.mkdir(parents=True, exist_ok=True)
    session = Session(given.target, folder, target.feed)
    seeds = target.seeds()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + (1 << 30), hard))
    if engine:
        return _led(engine, session, target, seeds, given)
    chance, ends = random.Random(given.seed), time.monotonic() + given.seconds
    while time.monotonic() < ends:
        session.one(targets.mutated(target, chance, chance.choice(seeds)))
    session.write()
    print(f"{given.target}: {session.executions:,} inputs, {len(session.findings)} findings", flush=True)
    return bool(session.findings)


def _led(engine: Any, session: Session, target: Any, seeds: Any, given: argparse.Namespace) -> int:
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
        f"-timeout={HANG}", "-rss_limit_mb=3000", f"-seed={given.seed or 1}", "-print_final_stats=1",
        f"-artifact_prefix={session.folder}/", "-len_control=0", "-verbosity=0",
    ]  # fmt: skip
    engine.Setup(arguments, session.one, custom_mutator=mutated)
    engine.Fuzz()
    return bool(session.findings)


if __name__ == "__main__":
    sys.exit(main())
