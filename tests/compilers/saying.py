"""Write what stands in tests/compilers/said: `make said`, or `python -m tests.compilers.saying`; see `HEAD`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from fallback_gate.compilers import MODULES, READERS, index
from fallback_gate.compilers.rule import Reader
from tests.compilers import telling

SAID = Path(__file__).parent / "said"
SAMPLES = Path(__file__).parents[2] / "sample_logs"
HEAD = """\
# What the readers make of {what}: tests/compilers/telling.py says what is left out.
# `make said` writes it anew. Each line that changes is to be read against the log itself: a value that is wrong is a
# bug of the reader, and is mended, not kept.{more}
"""
MORE = """
# `reader`: the proof of a log that says nothing. `of`: an example of a rule or a marker, from its declaration.
# `case`: further logs; add one with `case` and `log` alone, and let the rest be written."""
Entry = dict[str, Any]
FAMILIES = tuple(dict.fromkeys(module.partition(".")[0] for module in MODULES))


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _sequence(dumper: Any, data: Any) -> Any:
    leaves = all(isinstance(one, (str, int, float)) for one in data)
    flow = leaves and sum(len(str(one)) for one in data) < 90
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flow)


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(tuple, _sequence)


def shown(told: Any) -> str:
    """The text of a file, without its head."""
    return yaml.dump(
        told, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20, default_flow_style=False
    )


def loaded(file: Path) -> Any:
    """What a file says; nothing where there is none."""
    return yaml.load(file.read_bytes(), yaml.CSafeLoader) if file.exists() else None


def family(name: str) -> list[Reader]:
    """The readers of a family, in its order."""
    return [READERS[reader] for reader, (of, _) in index.PLACES.items() if of.partition(".")[0] == name]


def examples(readers: list[Reader]) -> Iterator[Entry]:
    """The examples that their rules and markers declare."""
    for reader in readers:
        for entry in reader.entries:
            for line in entry.matches:
                yield {"of": entry.id, "log": line.split("\n")}


def logs(folder: Path) -> list[Path]:
    """The sample logs of a folder."""
    return sorted(path for path in folder.iterdir() if path.name.endswith((".log", ".log.gz")))


def main() -> None:
    """Write all of it."""
    for name in FAMILIES:
        file = SAID / f"{name}.yaml"
        said: list[Entry] = [{"reader": one.name} | telling.of_nothing(one) for one in family(name)]
        cases = [{"case": one["case"], "log": one["log"]} for one in loaded(file) or () if "case" in one]
        said += [one | telling.of_lines(one["log"]) for one in (*examples(family(name)), *cases)]
        file.write_text(HEAD.format(what="lines", more=MORE) + shown(said), encoding="utf-8")
    for folder in sorted(path for path in SAMPLES.iterdir() if path.is_dir()):
        told = {path.name: telling.of_file(path) for path in logs(folder)}
        text = HEAD.format(what=f"sample_logs/{folder.name}", more="") + shown(told)
        (SAID / "logs" / f"{folder.name}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
