r"""Room 1: what CI, containers and launchers put around a line, taken off and kept for what it tells.

Each envelope is one declaration: a pattern at the start of the line and lines that it must and must not
match. They are taken off one after the other, in whatever order they were put on, so a torchrun rank
inside a Kubernetes line inside a GitHub Actions log is no special case. ANSI colours go first. Docker's
`json-file` driver is the one envelope that encloses the line (`{"log": "...\n", ...}`).

Sources of the formats: GitHub's runner (timestamp with seven digits), `docker logs -t` and the Kubernetes
Container Runtime Interface (nine), torch.distributed's `[rank0]:`, torchrun's `[default0]:`, GitLab's
section markers, `docker compose logs`, mpirun's `--tag-output`, Ray's and vLLM's `(Worker pid=1)`.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from fallback_gate.patterns import Pattern


class Envelope(NamedTuple):
    """What was around a line: the rank, and the stream (all facts together) that tells writers apart."""

    rank: int | None = None
    stream: tuple[str, ...] = ()


BARE = Envelope()


class Form(NamedTuple):
    """One envelope: the pattern's groups `rank`, `local` (a rank on one host) and `who` are its facts."""

    name: str
    pattern: str
    matches: tuple[str, ...]
    ignores: tuple[str, ...] = ()


_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"

FORMS = (
    Form(
        "kubernetes",
        _TIME + r" std(?:out|err) [FP] ",
        ("2026-11-29T12:00:00.000339563Z stderr F text",),
    ),
    Form(
        "gitlab",
        _TIME + r" \d\d[OE][ +]",
        ("2026-11-29T12:00:00.000339Z 00O text",),
    ),
    Form(
        "timestamp",
        _TIME + r" ",
        ("2026-11-29T12:00:00.0005305Z text", "2026-11-29T12:00:00.000339563Z text"),
        ("2026-11-29 text",),
    ),
    Form(
        "bracketed-timestamp",
        r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)\] ",
        ("[2026-11-29T12:00:00.123Z] text",),
        ("[2023-10-04 16:27:06,745] torch._inductor.graph: [INFO] text",),
    ),
    Form("rank", r"\[rank(?P<rank>\d{1,6})\]: ?", ("[rank1]:W1130 text", "[rank0]: Traceback")),
    Form("torchrun", r"\[default(?P<local>\d{1,6})\]: ?", ("[default0]:[rank0]:V1130 text",)),
    Form("mpirun", r"\[\d+,(?P<rank>\d{1,6})\]<std(?:out|err)>: ?", ("[1,0]<stdout>:text",)),
    Form(
        "actor",
        r"\((?P<who>[A-Za-z_][\w.\[\]-]{0,80} pid=\d+(?:, ip=[\w.:]+)?)\) ",
        ("(RayTrainWorker pid=4711, ip=10.0.0.2) text", "(EngineCore_0 pid=77) text"),
        ("(reason pid) text",),
    ),
    Form(
        "compose",
        r"(?P<who>[a-z0-9][a-z0-9_.-]{0,80}-\d+) +\| ",
        ("serve-1  | text", "moe-decoder-2 | text"),
        ("aten.mm | 24 | 5120", "| text"),
    ),
)


def _any() -> str:
    """One pattern for all forms, whose groups are numbered apart."""
    facts = {"rank": 0, "local": 0, "who": 0}

    def numbered(match: re.Match[str]) -> str:
        facts[match[1]] += 1
        return f"(?P<{match[1]}{facts[match[1]]}>"

    return "|".join(re.sub(r"\(\?P<(\w+)>", numbered, form.pattern) for form in FORMS)


_ENVELOPE = Pattern(_any())


_ANSI = Pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_DEEPEST = 8  # envelopes around one line


def unwrap(line: str) -> tuple[str, Envelope]:
    """Take all envelopes off a line (given without its line feed)."""
    line = line.removesuffix("\r")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    rank: int | None = None
    local: int | None = None
    stream: tuple[str, ...] = ()
    for _ in range(_DEEPEST):
        if line.startswith('{"') and (inner := _json_line(line)) is not None:
            line = inner
            continue
        match = _ENVELOPE.match(line)
        if not match:
            break
        line = line[match.end() :]
        for name, value in match.groupdict().items():
            if value is None:
                continue
            stream += (value,)
            if name.startswith("rank"):
                rank = int(value)
            elif name.startswith("local"):
                local = int(value)
    if not stream:
        return line, BARE
    return line, Envelope(rank if rank is not None else local, stream)


def _json_line(line: str) -> str | None:
    """The text inside a line of Docker's json-file driver, or None for another line."""
    if '"log"' not in line[:4096]:
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    text = record.get("log") if isinstance(record, dict) else None
    if not isinstance(text, str):
        return None
    text = text.removesuffix("\n").removesuffix("\r")
    return _ANSI.sub("", text) if "\x1b" in text else text
