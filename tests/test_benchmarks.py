"""The logs and traces that the benchmark makes: a wrong one would give wrong figures."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from benchmarks import debug_log, dense_log, facts, kernel_trace, trace_folder
from benchmarks.draw_anchors import ANCHORS
from fallback_gate import check
from fallback_gate.instruments.trace import reading
from fallback_gate.instruments.trace.seen import evidence
from fallback_gate.model import Kind

MIB = 1 << 20
ROOT = Path(__file__).parents[1]
DEBUG = [debug_log.SAMPLES / name for name in debug_log.DEBUG]


def test_it_grows_and_keeps_what_was_there(tmp_path: Path) -> None:
    log = debug_log.Grown(tmp_path / "debug.log")
    small = log.grow(MIB).read_bytes()
    large = log.grow(2 * MIB).read_bytes()
    assert large.startswith(small)
    for size, text in ((MIB, small), (2 * MIB, large)):
        assert size - 4096 < len(text) <= size
        assert text.endswith(b"\n")
    code = (
        "import sys; from pathlib import Path; from benchmarks.debug_log import Grown; "
        "sys.stdout.buffer.write(Grown(Path(sys.argv[1])).grow(2 << 20).read_bytes())"
    )
    again = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "again.log"],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert again.stdout == large


def test_most_is_a_debug_log_and_few_lines_come_again(tmp_path: Path) -> None:
    text = debug_log.Grown(tmp_path / "debug.log").grow(8 * MIB).read_bytes()
    lines = text.splitlines()
    records = sum(re.match(rb"[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ ", line) is not None for line in lines)
    assert records > 0.9 * len(lines)
    assert len(set(lines)) > 0.6 * len(lines)
    assert len({line.split()[2] for line in lines if line[:1] == b"V" and line.count(b" ") > 3}) >= 4
    assert not debug_log.COLOURED.search(text)


def test_a_copy_is_what_its_compiler_prints() -> None:
    """The same fallbacks as in the sample, with as many lines, of another process, frame and model."""
    log = debug_log.SAMPLES / "moe-decoder-h200/disabled.debug.log.gz"
    text = debug_log.text_of(log)
    chance = random.Random(1)
    copy = debug_log.sample(text).copy(debug_log.change(11, chance))
    assert copy.count(b"\n") == text.count(b"\n")
    assert copy != text
    assert b" 6447 " not in copy  # the process
    assert b"/app/model/" not in copy


def test_a_copy_is_judged_as_its_sample(tmp_path: Path) -> None:
    fell_back = Counter[tuple[str, str, int]]()
    for log in DEBUG[2:]:
        text = debug_log.text_of(log)
        sample, copy = tmp_path / "sample.log", tmp_path / "copy.log"
        sample.write_bytes(text)
        copy.write_bytes(debug_log.sample(text).copy(debug_log.change(11, random.Random(1))))
        assert told(copy) == told(sample), log
        fell_back += told(sample)
    assert fell_back


def told(log: Path) -> Counter[tuple[str, str, int]]:
    events = [finding.event for finding in check([log], "builtin:strict", environ={}).findings]
    return Counter((event.id, event.op, event.line or 0) for event in events)


def test_one_line_in_so_many_reports_a_fallback(tmp_path: Path) -> None:
    for every in (100, 10):
        log = dense_log.strewn(tmp_path / "dense.log", MIB // 2, every)
        verdict = check([log], "builtin:strict", environ={})
        reported = sum(finding.event.count for finding in verdict.findings)
        lines = log.read_bytes().count(b"\n")
        assert 0.5 * lines / every < reported < 2 * lines / every


def test_so_many_are_different(tmp_path: Path) -> None:
    verdict = check([dense_log.different(tmp_path / "x.log", 300)], "builtin:strict", environ={})
    assert [finding.event.count for finding in verdict.findings] == [1] * 300


def test_a_trace_has_right_hashes_and_counts_frames_on(tmp_path: Path) -> None:
    folder = trace_folder.make(tmp_path / "traces", 2 * MIB)
    files = sorted(folder.iterdir())
    assert len(files) == trace_folder.RANKS
    for rank, file in enumerate(files):
        payload: list[bytes] = []
        wanted = None
        for line in (*file.read_bytes().split(b"\n"), b"V"):
            if line.startswith(b"\t"):
                payload.append(line[1:])
            elif wanted:
                assert hashlib.md5(b"\n".join(payload), usedforsecurity=False).hexdigest() == wanted
            if line.startswith(b"V") and b"] {" in line:
                said = json.loads(line[line.index(b"] {") + 2 :])
                wanted, payload = said.get("has_payload"), []
                assert said.get("rank", rank) == rank
                assert said.get("rank") == (rank if "frame_id" in said else None)


def test_each_frame_of_a_trace_is_done(tmp_path: Path) -> None:
    """A copy that took the frames of another one would show as frames without an end."""
    folder = trace_folder.make(tmp_path / "traces", 12 * MIB)
    verdict = check([folder], "builtin:strict", environ={})
    assert {process.rank for process in verdict.processes} == set(range(trace_folder.RANKS))
    for process in verdict.processes:
        (torch,) = process.compilers
        assert torch.proof[Kind.EAGER_FRAME].state.value == "proven", torch.proof[Kind.EAGER_FRAME].why


def test_facts_of_tlparse_are_read(tmp_path: Path) -> None:
    """As tlparse writes them: one file for each record, in a folder for each frame."""
    frame = tmp_path / "rank_0/-_3_0_0"
    frame.mkdir(parents=True)
    (frame / "dynamo_graph_break_reason_4.txt").write_text(
        "Graph break in user code at /app/moe/breaks.py:56\nGraph Break Reason: Call to x\n"
    )
    (frame / "inductor_output_code_9.txt").write_text(
        "def call(args):\n    buf27 = torch.ops.aten.topk.default(buf26, 2)\n    # torch.ops.aten.no.default(\n"
    )
    assert facts.breaks_of_tlparse(tmp_path) == {("/app/moe/breaks.py", 56)}
    assert facts.operators_of_tlparse(tmp_path) == {"aten::topk"}


def test_the_anchors_are_fit_to_be_searched() -> None:
    anchors = ANCHORS.read_text(encoding="utf-8").splitlines()
    assert len(anchors) == len(set(anchors)) == 230
    assert all(len(anchor) >= 12 and anchor.isascii() for anchor in anchors)


def test_a_kernel_trace_is_the_same_steps_again(tmp_path: Path) -> None:
    """1,526 kernels and 33 graph launches in each step, as the program that made the sample has."""
    trace = kernel_trace.make(tmp_path / "decode.json", 12 * MIB)
    measured = {one.name: one.value for one in evidence(str(trace), reading.read(trace)).measurements}
    assert measured["steps"] >= 6
    assert measured["kernels_per_step"] == 1526
    assert measured["graph_launches_per_step"] == 33
