"""Room 1: one JSON object a line, as collectors keep logs: the lines that were written come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate import check
from fallback_gate.sources.json_lines import are_in, plain_lines

BREAK = (
    "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
    'Graph break in user code at /app/"net".py:64'
)
TRACEBACK = "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "

# The objects, by the documentation of each.
OBJECTS: dict[str, Any] = {
    "Elasticsearch": lambda line: {"@timestamp": "2026-11-30T12:00:00Z", "message": line, "kubernetes": {"pod": {"name": "t-0"}}},
    "Fluent Bit": lambda line: {"stream": "stderr", "message": line, "kubernetes": {"pod_name": "t-0"}},
    "journald": lambda line: {"__REALTIME_TIMESTAMP": "1", "MESSAGE": line, "_PID": "42", "_HOSTNAME": "n1"},
    "Google Cloud": lambda line: {"textPayload": line + "\n", "resource": {"labels": {"pod_name": "t-0"}}},
    "Google Cloud, structured": lambda line: {"severity": "ERROR", "jsonPayload": {"message": line}},
    "CloudWatch": lambda line: {"timestamp": 1764504000000, "message": line, "ingestionTime": 1},
    "Datadog": lambda line: {"id": "x", "attributes": {"message": line, "host": "h"}},
    "structlog": lambda line: {"event": line, "level": "info"},
    "Vector": lambda line: {"file": "/var/log/x", "host": "h", "message": line, "source_type": "file"},
}  # fmt: skip


@pytest.mark.parametrize("form", OBJECTS)
def test_a_break_is_read_with_its_stack_and_its_physical_line(tmp_path: Path, form: str) -> None:
    log = tmp_path / "export.jsonl"
    written = [
        "noise",
        BREAK,
        TRACEBACK + "User code traceback:",
        TRACEBACK + '  File "/app/net.py", line 64, in route',
    ]
    log.write_text("".join(json.dumps(OBJECTS[form](line)) + "\n" for line in written), encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert (finding.event.op, finding.event.line) == ("route", 2)
    assert finding.event.location is not None
    assert finding.event.location.file == '/app/"net".py'


def test_a_text_of_more_lines_loses_none_of_them(tmp_path: Path) -> None:
    log = tmp_path / "export.jsonl"
    log.write_text(json.dumps({"message": f"noise\nmore noise\n{BREAK}\nnoise"}) + "\n", encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert (finding.event.kind.value, finding.event.line) == ("graph_break", 1)


def test_two_pods_are_two_processes_though_their_ids_are_one(tmp_path: Path) -> None:
    log = tmp_path / "export.jsonl"
    pods = [json.dumps({"message": BREAK, "kubernetes": {"pod_name": pod}}) for pod in ("a-0", "a-1")]
    log.write_text("\n".join(pods), encoding="utf-8")
    assert len(check([str(log)], policy="builtin:strict").processes) == 2


def test_a_record_of_a_torch_logger_keeps_level_and_name() -> None:
    said = {
        "name": "torch._dynamo.convert_frame",
        "levelname": "WARNING",
        "message": "torch._dynamo hit\nmore",
    }
    assert b"".join(plain_lines([json.dumps(said).encode()])) == (
        b"WARNING:torch._dynamo.convert_frame:torch._dynamo hit\rmore"
    )


@pytest.mark.parametrize(
    "line",
    [
        b'{"log": "text\\n", "stream": "stdout"}',  # Docker's own
        b'{"fallback_gate_closing": 1, "pid": 7}',
        b'{"traceEvents": [',
        b'{"message": {"text": "no text of its own"}}',
        b'{"message": "cut',
        b"text",
        b"",
    ],
)
def test_what_is_no_such_object_stays(line: bytes) -> None:
    assert not are_in(line)
    assert list(plain_lines([line])) == [line]


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"))))
def test_any_text_comes_out_as_it_went_in(texts: list[str]) -> None:
    block = "\n".join(json.dumps({"message": text}) for text in texts).encode()
    assert list(plain_lines([block])) == ["\n".join(texts).encode()]
