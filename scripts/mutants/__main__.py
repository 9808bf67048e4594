"""Mutation test of a room: `python scripts/mutants ROOM`, or `make mutants`; CONTRIBUTING.md tells more.

Results are kept in `build/mutants`, so that a run may go on where one ended, or try the survivors again; with
`--report` they become tests/mutants.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from making import Mutant, mutants_of
from running import KILLED, Hunt, Result
from telling import report

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fallback_gate"
KEPT = ROOT / "build/mutants"


def main() -> int:
    """Try the mutants that the arguments choose."""
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("room", nargs="?", help="a folder of fallback_gate")
    parser.add_argument(
        "--sample", type=int, help="only so many, at random, of the files not listed as whole"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the choice")
    parser.add_argument("--files", nargs="*", default=["*.py"], help="of what is chosen, only these files")
    parser.add_argument(
        "--again", action="store_true", help="of the last run, with its sample, those that were not killed"
    )
    parser.add_argument("--go-on", action="store_true", help="only those that were not tried; or both")
    parser.add_argument("--minutes", type=float, help="stop then; they come in an order at random")
    parser.add_argument("--tests", nargs="*", help="in place of the room's own and those of pyproject.toml")
    parser.add_argument("--report", action="store_true", help="write tests/mutants.md from what is kept")
    options = parser.parse_args()
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutants"]
    if options.report:
        report(ROOT, KEPT, config)
        return 0
    if not options.room:
        parser.error("name a room, or --report")
    return hunt(options, config)


def hunt(options: argparse.Namespace, config: dict[str, Any]) -> int:
    """Try the mutants of a room, and keep what became of them; returns pytest's exit code."""
    kept = KEPT / f"{options.room}.json"
    last: dict[str, Any] = {"sample": options.sample, "seed": options.seed, "chosen": (), "results": ()}
    if (options.again or options.go_on) and kept.exists():
        last = json.loads(kept.read_text(encoding="utf-8"))
    whole = chosen(options.room, last, config["whole"].get(options.room, ()))
    known = {one["name"]: Result(**one) for one in last["results"]}
    results = {mutant.name: known[mutant.name] for mutant in whole if mutant.name in known}
    mutants = [mutant for mutant in whole if any(mutant.file.match(glob) for glob in options.files)]
    alive = {one.name for one in results.values() if one.state != KILLED}
    wanted = alive if options.again else set()
    if options.go_on:
        wanted |= {one.name for one in mutants} - results.keys()
    if options.again or options.go_on:
        mutants = [one for one in mutants if one.name in wanted]
    random.Random(options.seed).shuffle(mutants)  # so that a run that is stopped has tried a sample
    about = {"sample": last["sample"], "seed": last["seed"], "chosen": [one.name for one in whole]}
    tried = Counter[str]()

    def keep() -> None:
        done = {**about, "results": [one._asdict() for one in results.values()]}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(done, indent=1), encoding="utf-8")

    def tell(result: Result) -> None:
        results[result.name] = result
        tried[result.state] += 1
        if result.state != KILLED:
            print(f"{result.state:9} {result.line:4} {result.name} ({result.tests} tests)", flush=True)
        if tried.total() % 50 == 0:
            print(f"# {tried.total()} of {len(mutants)}: {dict(tried)}", flush=True)
            keep()

    os.chdir(ROOT)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(KEPT / "hypothesis")
    own = f"tests/{options.room}"
    plain = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"]
    tests = options.tests or [own, *config["tests"].get(options.room, ())]
    until = math.inf if options.minutes is None else time.time() + 60 * options.minutes
    hunting = Hunt(mutants, PACKAGE, tell, own=own, seconds=config["seconds"], until=until)
    code = int(pytest.main([*plain, *tests], [hunting]))
    if not code:
        keep()
    print(f"# {tried.total()} of {len(mutants)} tried: {dict(tried)}", flush=True)
    return code


def chosen(room: str, last: dict[str, Any], files: Sequence[str]) -> list[Mutant]:
    """The mutants of the room; with a sample, all of `files` and so many of the rest.

    A run that goes on keeps the sample of the last one, less what the code has no more.
    """
    mutants, sample = list(_all(room)), last["sample"]
    rest = [one.name for one in mutants if not any(one.file.match(glob) for glob in files)]
    if sample is None or sample >= len(rest):
        return mutants
    taken = set(last["chosen"] or random.Random(last["seed"]).sample(rest, sample))
    left = set(rest) - taken
    return [one for one in mutants if one.name not in left]


def _all(room: str) -> Iterator[Mutant]:
    for file in sorted((PACKAGE / room).rglob("*.py")):
        yield from mutants_of(file, PACKAGE)


if __name__ == "__main__":
    sys.exit(main())
