"""Room 1: what CI, containers and launchers put around a line comes off, and nothing of the line with it."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fallback_gate.compilers import READERS
from fallback_gate.sources.envelope import (
    BARE,
    FORMS,
    GOES_ON,
    Envelope,
    Form,
    all_feeds,
    branches,
    feeds,
    is_glog,
    unwrap,
)

LINE = (
    "V1130 00:29:06.251000 4674 torch/_inductor/graph.py:947] [0/0] [__perf_hints] Using FallbackKernel: a.b"
)


@pytest.mark.parametrize(
    ("form", "line"), [(f, m) for f in FORMS for m in f.matches], ids=lambda v: str(v)[:40]
)
def test_a_line_that_a_form_must_match(form: Form, line: str) -> None:
    assert re.match(form.pattern, line)
    assert not line.endswith(unwrap(line)[0]) or unwrap(line)[0] != line


@pytest.mark.parametrize(
    ("form", "line"), [(f, m) for f in FORMS for m in f.ignores], ids=lambda v: str(v)[:40]
)
def test_a_line_that_a_form_must_ignore(form: Form, line: str) -> None:
    assert not re.match(form.pattern, line)
    assert unwrap(line) == (line, BARE)


# What each puts in front of a line, and the rank that it tells: from the formats' own documentation.
AROUND = {
    "GitHub Actions": ("2026-11-29T12:00:00.0005305Z ", None),
    "docker logs -t": ("2026-11-29T12:00:00.000339563Z ", None),
    "Kubernetes": ("2026-11-29T12:00:00.000339563+01:00 stderr F ", None),
    "GitLab": ("2026-11-29T12:00:00.000339Z 01O ", None),
    "Jenkins": ("[2026-11-29T12:00:00.123Z] ", None),
    "torch.distributed": ("[rank12]: ", 12),
    "torch.distributed, logging": ("[rank7]:", 7),
    "torchrun": ("[default3]:", 3),
    "mpirun": ("[1,5]<stderr>:", 5),
    "Ray": ("(RayTrainWorker pid=4711, ip=10.0.0.2) ", None),
    "vLLM": ("(EngineCore_0 pid=77) ", None),
    "compose": ("serve-1  | ", None),
    "compose 1": ("app_serve_1    | ", None),
    "kubectl --prefix": ("[pod/serve-7d9c-x2k/engine] ", None),
    "journald short": ("Nov  3 02:16:17 gpu-node-7 python[4711]: ", None),
    "journald short-precise": ("Nov 30 02:16:17.123456 gpu-node-7 python[4711]: ", None),
    "journald short-iso": ("2026-11-30T02:16:17+0000 gpu-node-7 python[4711]: ", None),
    "RFC 5424": ('<13>1 2026-11-30T02:16:17.003Z gpu-node-7 python 4711 - [a@1 b="]"] ', None),
    "Slurm": ("13: ", 13),
    "vLLM worker": ("(VllmWorker rank=6 pid=9) ", 6),
    "vLLM tensor parallel": ("(Worker_TP1 pid=8) ", 1),
    "vLLM pipeline": ("(Worker_PP1_TP0 pid=8) ", None),
    "Buildkite": ("\x1b_bk;t=1795953600123\x07", None),
    "GitLab section": ("section_start:1795953600:build\r\x1b[0K", None),
    "logcat threadtime": ("11-30 02:16:17.123  1234  5678 I python  : ", None),
    "logcat brief": ("W/python  ( 1234): ", None),
    "progress bar": (" 10%|#         | 1/10 [00:01<00:09,  1.2it/s]", None),
}


@pytest.mark.parametrize("outer", AROUND)
@pytest.mark.parametrize("inner", AROUND)
def test_any_two_around_a_line(outer: str, inner: str) -> None:
    line, envelope = unwrap(AROUND[outer][0] + AROUND[inner][0] + LINE)
    assert line == LINE
    told = [rank for _, rank in (AROUND[outer], AROUND[inner]) if rank is not None]
    if not told:
        assert envelope.rank is None
    elif len(told) == 1:
        assert envelope.rank == told[0]
    else:
        assert envelope.rank in told


@pytest.mark.parametrize(
    "launcher", ["[default3]:[rank11]: ", "[default3]: [rank11]:", "[1,11]<stdout>:[default3]:"]
)
def test_the_rank_of_the_whole_run_beats_the_number_on_one_host(launcher: str) -> None:
    assert unwrap(launcher + LINE)[1].rank == 11


@pytest.mark.parametrize(
    ("form", "line"), [(f, m) for f in FORMS for m in f.matches], ids=lambda v: str(v)[:40]
)
def test_every_form_around_every_other(form: Form, line: str) -> None:
    match = re.match(form.pattern, line)
    assert match
    mine = match[0]
    for other in FORMS:
        for example_ in other.matches:
            found = re.match(other.pattern, example_)
            assert found
            if {form.name, other.name} <= {"jenkins-branch", "compose-named", "pdsh"}:
                continue  # a log has one, and each looks for a record
            if (other.name, form.name) == ("compose-named", "slurm"):
                continue  # it may be a row of a table
            if "gh-run-view" in (form.name, other.name):
                continue  # it needs the time stamp of GitHub behind it
            assert unwrap(found[0] + mine + LINE)[0] == LINE


def test_two_writers_are_two_streams() -> None:
    streams = {unwrap(around + LINE)[1].stream for around, _ in AROUND.values()}
    assert len(streams) == 20  # six that tell no writer are one, and so are journald's three
    assert unwrap("(Worker pid=1) x")[1] != unwrap("(Worker pid=2) x")[1]
    assert unwrap("2026-11-29T12:00:00.1Z [rank1]: x")[1] == unwrap("2026-11-29T12:00:09.9Z [rank1]: y")[1]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;196mred\x1b[m text\x1b[K", "red text"),
        ("\x1b]8;;https://example.org\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("\x1b[2m2026-11-29T12:00:00.0005305Z\x1b[0m \x1b[36m[rank1]:\x1b[0m text", "text"),
        ("\x1b(Btext", "text"),
        ("text\r", "text"),
        ("Graph \x1b[1mbr\x1b[0meak", "Graph break"),
        ("\x1b[3" + LINE, LINE),
        ("\x1b[" + LINE, LINE),
        ("\x1b[3[rank1]: " + LINE, LINE),
        ("\x1b_bk;t=1795953600123\x07text", "text"),
        ("\x1b[36m(RayTrainWorker pid=4711)\x1b[0m text\x1b[32m [repeated 3x across cluster]\x1b[0m", "text"),
        ("[36m(RayTrainWorker pid=4711)[0m text[32m [repeated 3x across cluster][0m", "text"),
        ("(VllmWorker rank=0 pid=281) [0;0m text", "text"),
        ("", ""),
        ("\x1b", "\x1b"),
        ("  indented", "  indented"),
        ("2026-11-29T12:00:00.0005305Z   indented", "  indented"),
        ("[rank0]:   indented", "  indented"),
    ],
)
def test_colours_go_and_indents_stay(line: str, text: str) -> None:
    assert unwrap(line)[0] == text


@pytest.mark.parametrize("text", [LINE, 'say "x" \\ y\ttab', "\u2028é", "", "\x1b[31mred"])
def test_docker_json(text: str) -> None:
    line = json.dumps({"log": text + "\n", "stream": "stderr", "time": "2026-11-29T12:00:00.000339563Z"})
    assert unwrap(line)[0] == text.replace("\x1b[31m", "")
    ranked = json.dumps({"log": "[rank4]: " + text + "\r\n", "stream": "stdout"})
    assert unwrap(ranked)[0] == text.replace("\x1b[31m", "")
    assert unwrap(ranked)[1].rank == 4


@pytest.mark.parametrize(
    "line",
    [
        '{"log": 3}',
        '{"log": null, "a": "log"}',
        '{"event": "log", "text": "Graph break"}',
        '{"log": "cut',
        '{"logs": "x"}',
        '{"num_choices": 2, "best_kernel": "_mkl_linear"}',
        '["log"]',
        "{" * 5000,
        '{"log"' * 5000,
        '{"log":' + "[" * 100_000,
        '{"log": ' + "7" * 5000 + "}",
    ],
)
def test_other_json_stays_as_it_is(line: str) -> None:
    assert unwrap(line) == (line, BARE)


@pytest.mark.parametrize(
    "line",
    [
        "[rank]: text",
        "[rank1] text",
        "rank1: text",
        "[rank12345678]: text",
        "12:00:00 text",
        "I1130 00:29:06.251000 4674 torch/a.py:1] [0/0] text",
        "(reason pid) text",
        'File "/app/a.py", line 3, in f',
        "aten.mm | 24 | 5120",
        "a | b",
        "conv2d-1 | 24 | 5120",
        "    - 0/0: tensor 'x' size mismatch",
        "0/0: tensor 'x' size mismatch",
        "[0/0] [__graph_breaks] text",
        "[0/1_2] text",
        "[2026-11-30 01:18:36,471] [4/0] torch._dynamo.symbolic_convert: [DEBUG] text",
        "[LayoutInference] text",
        "[TRT] [W] text",
        "[INFO] text",
        "(reason = 4) text",
        "(see pid=4)text",
        "Nov 30 text: more",
        "I/O error (5): text",
        "text [repeated 3x across cluster]",
        "<13>text",
        "cl.exe: text",
        "10%| text",
        "<class 'int'>: text",
    ],
)
def test_no_envelope(line: str) -> None:
    assert unwrap(line) == (line, BARE)


def test_facts_are_kept() -> None:
    _, envelope = unwrap("2026-11-29T12:00:00.1Z [pod/serve-0/engine] (VllmWorker rank=1 pid=9) text")
    assert envelope.rank == 1
    assert envelope.host == "pod/serve-0/engine"
    assert envelope.stream == ("pod/serve-0/engine", "VllmWorker rank=1 pid=9", "1")
    assert unwrap("serve-2  | text")[1].host == "serve-2"
    assert (
        unwrap("Nov 30 02:16:17 node7 python[4711]: text")[1]
        == unwrap("Nov 30 02:16:18 node7 python[4711]: other")[1]
    )
    assert unwrap("Nov 30 02:16:17 node7 python[4711]: text")[1].rank is None


def test_a_branch_is_taken_off_where_the_log_announces_it() -> None:
    head = (
        b"[Pipeline] parallel\n[Pipeline] { (Branch: gpu tests)\n[Pipeline] { (Branch: TRT)\n[Pipeline] sh\n"
    )
    assert branches(head) == ("gpu tests", "TRT")
    assert branches(b"[Pipeline] { (gpu tests)\n") == ()
    assert len(branches(b"".join(b"[Pipeline] { (Branch: b%d)\n" % n for n in range(999)))) == 256
    for text in ("[LayoutInference] text", "text", ""):
        assert unwrap("[gpu tests] " + text, branches(head))[0] == text
        assert unwrap("[gpu tests] " + text)[0] == "[gpu tests] " + text
    line, envelope = unwrap("[2026-11-29T12:00:00.123Z] [gpu tests] " + LINE)
    assert (line, envelope.branch) == (LINE, "gpu tests")


OWN = re.compile(r"\[[A-Za-z][\w .-]{0,60}\] ")


def test_a_branch_that_no_one_announced_comes_off_behind_a_time_stamp() -> None:
    time = "[2026-11-29T12:00:00.123Z] "
    for name in ("gpu", "gpu tests", "build-2", "linux.cuda"):
        line, envelope = unwrap(f"{time}[{name}] fallback to eager: op=gate_attn")
        assert (line, envelope) == ("fallback to eager: op=gate_attn", BARE)
    for name in ("LayoutInference", "TRT", "TensorRT-LLM", "W", "INFO", "aiter", "OpenVINO-EP", "Pipeline"):
        assert unwrap(f"{time}[{name}] text") == (f"[{name}] text", BARE)


def test_what_compilers_put_in_brackets_is_no_branch() -> None:
    lines = [
        line
        for reader in READERS.values()
        for one in (*reader.rules, *reader.markers)
        for line in one.matches
        if OWN.match(line) and one.pattern.startswith(("^", r"\["))
    ]
    assert lines
    kept = [line for line in lines if unwrap("[2026-11-29T12:00:00.123Z] " + line)[0] == unwrap(line)[0]]
    assert [line for line in lines if line not in kept] == []


def test_a_byte_order_mark_before_a_line_goes() -> None:
    assert unwrap("\ufeff[rank0]: text")[0] == "text"


def test_envelopes_without_end_are_bounded() -> None:
    line = "[rank1]: " * 1000 + "x"
    text, envelope = unwrap(line)
    assert text.endswith("x")
    assert envelope.rank == 1
    assert len(envelope.stream) <= 8


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [a for a, _ in AROUND.values()]
            + [
                '{"log":"',
                '"}',
                "\x1b[",
                "\x1b]",
                "\x1b",
                "m",
                "\\u12",
                "[rank",
                "]:",
                " | ",
                "(a pid=",
                "\r",
                "x",
            ]
        ),
        st.text(max_size=8),
    ),
    max_size=14,
)


@given(PIECES.map("".join))
@example('{"log":"\\ud800"}')
@example('{"log":"{\\"log\\":\\"x\\"}"}')
def test_whatever_the_line_it_only_gets_shorter(line: str) -> None:
    text, envelope = unwrap(line)
    assert len(text) <= len(line)
    assert envelope.rank is None or 0 <= envelope.rank < 10**6


@given(st.text(alphabet=st.characters(exclude_characters="\x1b\r\x1f"), max_size=60).map(lambda s: "~" + s))
def test_a_line_without_envelope_is_left_alone(line: str) -> None:
    assert unwrap(line) == (line, BARE)
    assert unwrap(unwrap("[rank1]: " + line)[0]) == (line, BARE)


@given(
    parts=st.lists(st.sampled_from([b"\n", b"\x1f\n", b"\x1f", b"line\r\n", b"x" * 3000]), max_size=12),
    span=st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)),
)
def test_feeds_leave_out_those_within_a_physical_line(parts: list[bytes], span: tuple[int, int]) -> None:
    data = b"".join(parts)
    start, end = sorted(min(place, len(data)) for place in span)
    ends = [at for at in range(start, end) if data[at : at + 1] == b"\n" and data[at - 1 : at] != b"\x1f"]
    assert feeds(bytearray(data), start, end) == len(ends)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("V1130 00:29:06.251000 4674 torch/a.py:1] text", True),
        ("I0101 00:00:00.000000 11 kernel_factory.cc:200] text", True),
        ("C1130 00:29:06.251000 4674 torch/a.py:1] text", True),
        ("A1130 text", False),
        ("V113 text", False),
        ("Worker 1130", False),
        ("1130 text", False),
        ("V", False),
        ("", False),
    ],
)
def test_how_records_of_glogs_form_open(line: str, told: bool) -> None:
    assert is_glog(line) is told


@given(
    st.lists(st.sampled_from([b"\n", b"\x1f\n", b"\x1f", b"a", b"\r\n"]), max_size=40).map(b"".join),
    st.data(),
)
def test_line_feeds_are_counted_byte_for_byte(data: bytes, drawn: st.DataObject) -> None:
    start = drawn.draw(st.integers(0, len(data)))
    end = drawn.draw(st.integers(start, len(data)))
    feeds_at = [at for at in range(start, end) if data[at : at + 1] == b"\n"]
    assert all_feeds(bytearray(data), start, end) == len(feeds_at)
    ending = [at for at in feeds_at if at == 0 or data[at - 1 : at] != GOES_ON]
    assert feeds(bytearray(data), start, end) == len(ending)


@pytest.mark.parametrize("escape", ["", "#033", "^["])
@pytest.mark.parametrize("reset", ["[0m", "[0;0m"])
def test_colours_whose_escape_character_is_lost_or_spelled_out(escape: str, reset: str) -> None:
    coloured = f"{escape}[1;36m(EngineCore_DP0 pid=165){escape}{reset} {escape}[33m{LINE}{escape}{reset}"
    assert unwrap(coloured) == (LINE, Envelope(None, ("EngineCore_DP0 pid=165",)))


def test_an_exception_in_the_output_of_pytest() -> None:
    assert unwrap("E       torch._dynamo.exc.Unsupported: a")[0] == "torch._dynamo.exc.Unsupported: a"
    assert unwrap('E        File "/app/a.py", line 3, in f')[0] == 'File "/app/a.py", line 3, in f'
