"""The fuzzing, short: a few inputs of each target, the same each time. `make fuzz` runs it for as long as you like.

Hypothesis draws the chances by which a seed is changed, and makes what fails small.
"""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fallback_gate.model import Outcome
from tests.fuzz import corpus, mutate
from tests.fuzz.judging import judged
from tests.fuzz.targets import TARGETS, mutated

FEW = 12  # inputs of a target
ENDS = 0.85  # of the lines of a log that passes: its compile phase has not ended before
AT_EXIT = (
    b"TorchDynamo compilation metrics:"  # behind the list of frames; a short log's times are a part of it
)
CUTS = 25  # of a log
LATER_RUNS = {
    "convert-refused.2.21.log",  # the first conversion had ended: the second was yet to begin
    "backward-error-caught.2.11.log",  # one of the last times at exit is all that tells of it
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs_of_each_target(name: str) -> None:
    target = TARGETS[name]

    @settings(
        max_examples=FEW,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False), st.sampled_from(range(len(target.seeds()))))
    def holds(chance: random.Random, seed: int) -> None:
        target.feed(mutated(target, chance, target.seeds()[seed]))

    holds()


def test_each_family_of_readers_is_a_target_with_seeds() -> None:
    assert set(corpus.FAMILIES) < set(TARGETS)
    assert all(target.seeds() for target in TARGETS.values())


@pytest.mark.parametrize("mutation", [mutate.lines, mutate.bytes_of, mutate.values])
def test_the_same_chance_gives_the_same_input(mutation: mutate.Mutate) -> None:
    seeds = corpus.policies()
    for number in range(50):
        one, other = (mutation(random.Random(number), seeds[number % len(seeds)], seeds) for _ in range(2))
        assert one == other
        assert len(one) <= mutate.LARGEST


LOGS = [path for path in corpus.files(corpus.SAMPLES, ".log") if path.parent.suffix != ".traces"]


def phase_ends(lines: list[bytes]) -> int:
    """How many lines of a log that passes stand surely before its compile phase has ended."""
    exits = [at for at, line in enumerate(lines) if AT_EXIT in line]
    return min(int(ENDS * len(lines)), *exits[-1:], len(lines) - 1)


@pytest.mark.skipif(
    sys.platform == "win32", reason="what holds does not depend on the system, and this takes long"
)
@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_cut_log_never_passes(path: corpus.Path) -> None:
    """Cut between lines or within one: what passes as a whole does not before its compile phase has ended, and
    what does not pass as a whole never does."""
    text = corpus.content(path)
    lines = text.splitlines(keepends=True)
    if len(text) > 150_000 or path.name in LATER_RUNS:
        return
    whole = judged(text, path.name.removesuffix(".gz")).outcome
    last = phase_ends(lines) if whole is Outcome.PASS else len(lines) - 1
    chance = random.Random(path.name)
    for cut in chance.sample(range(last), min(last, CUTS)):
        torn = lines[cut][: chance.randrange(len(lines[cut]))] if chance.random() < 0.5 else b""
        verdict = judged(b"".join(lines[:cut]) + torn, path.name.removesuffix(".gz"))
        assert verdict.outcome is not Outcome.PASS, (cut, torn)
