"""Room 3: the whole of what each reader makes of its own examples, of further lines and of the sample logs.

The files in said/ tell it: operator, names, reason, place, line, and each proof with its why. Other tests hold
the reasons behind them; this one holds every word. `make said` writes them anew; each change is to be read.
"""

from __future__ import annotations

from typing import Any

import pytest

from fallback_gate.compilers import READERS
from tests.compilers import saying, telling

SAID = {name: saying.loaded(saying.SAID / f"{name}.yaml") for name in saying.FAMILIES}
FOLDERS = sorted(path for path in saying.SAMPLES.iterdir() if path.is_dir())


def named(kind: str) -> list[Any]:
    """The entries of all families that have such a key."""
    entries = [entry for said in SAID.values() for entry in said if kind in entry]
    return [pytest.param(entry, id=f"{entry[kind]}-{at}") for at, entry in enumerate(entries)]


def keys(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    """The entry without these keys."""
    return {key: value for key, value in entry.items() if key not in names}


@pytest.mark.parametrize("entry", named("reader"))
def test_what_nothing_proves(entry: dict[str, Any]) -> None:
    assert telling.of_nothing(READERS[entry["reader"]]) == keys(entry, "reader")


@pytest.mark.parametrize("entry", named("of"))
def test_what_is_made_of_an_example(entry: dict[str, Any]) -> None:
    assert telling.of_lines(entry["log"]) == keys(entry, "of", "log")


@pytest.mark.parametrize("entry", named("case"))
def test_what_is_made_of_a_case(entry: dict[str, Any]) -> None:
    assert telling.of_lines(entry["log"]) == keys(entry, "case", "log")


@pytest.mark.parametrize("name", saying.FAMILIES)
def test_each_reader_and_each_example_is_told_of(name: str) -> None:
    readers = saying.family(name)
    assert [entry["reader"] for entry in SAID[name] if "reader" in entry] == [one.name for one in readers]
    told = [{"of": entry["of"], "log": entry["log"]} for entry in SAID[name] if "of" in entry]
    assert told == list(saying.examples(readers)), "run `make said`, and read what it wrote"


@pytest.mark.parametrize(
    ("folder", "log"),
    [pytest.param(folder.name, log, id=log.name) for folder in FOLDERS for log in saying.logs(folder)],
)
def test_what_is_made_of_a_sample(folder: str, log: Any, sample: dict[str, Any]) -> None:
    assert telling.of_file(log) == sample[folder][log.name]


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    """What is said of the sample logs, by folder."""
    return {folder.name: saying.loaded(saying.SAID / "logs" / f"{folder.name}.yaml") for folder in FOLDERS}
