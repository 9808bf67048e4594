"""The structured traces of a recorded run: gathered, sealed with the log, and read with it by themselves."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome, Verdict
from fallback_gate.sources.seal import Trace
from fallback_gate.sources.source import Source
from fallback_gate.sources.traces import beside
from tests.capture.recording import PRINT_CLEAN, record

NAME = "dedicated_log_torch_trace_x1.log"
FOLDER = "compile.log.traces"
_P = "V1130 01:38:15.000000 4456 torch/_inductor/graph.py:2613] "
_ID = '"frame_id": 0, "frame_compile_id": 0, "attempt": 0'
METRICS = {
    "compile_id": "0/0", "co_name": "forward", "co_filename": "/app/tv/model.py", "co_firstlineno": 52,
    "graph_op_count": 9, "guard_count": 3, "inductor_compile_time_s": 1.5, "has_guarded_code": True,
}  # fmt: skip


def trace(code: str) -> str:
    """The trace of the process that wrote the clean log, whose wrapper is this code."""
    return (
        f'{_P}{{"dynamo_start": {{"stack": []}}, {_ID}}}\n'
        f'{_P}{{"dynamo_output_graph": {{"sizes": {{}}}}, {_ID}}}\n'
        f'{_P}{{"inductor_output_code": {{"filename": "/tmp/x.py"}}, {_ID}, "has_payload": "a1"}}\n'
        f"\t{code}\n"
        f'{_P}{{"compilation_metrics": {json.dumps(METRICS)}, {_ID}}}\n'
    )


KERNEL = "    triton_poi_fused_add_0.run(buf0, 64)"
FALLBACK = "    buf1 = torch.ops.aten.topk.default(buf0, 2, -1, True, True)"


def program(code: str, folder: str = "os.environ['TORCH_TRACE']") -> str:
    """Print the clean log, and write this trace where the recorder asks for it."""
    return (
        f"import os; folder = {folder}; os.makedirs(folder, exist_ok=True); "
        f"open(folder + '/{NAME}', 'w', newline='').write({trace(code)!r}); {PRINT_CLEAN}"
    )


def judged(*logs: Path) -> Verdict:
    return check(logs, cwd=logs[0].parent, environ={})


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    assert record(tmp_path, program(KERNEL)).returncode == 0
    return tmp_path / "compile.log"


def test_a_trace_is_sealed_and_read_as_the_same_run(recorded: Path) -> None:
    trailer = json.loads(recorded.read_bytes().splitlines()[-1])
    assert [one["name"] for one in trailer["traces"]] == [f"{FOLDER}/{NAME}"]
    assert trailer["traces"][0]["bytes"] == len(trace(KERNEL))
    verdict = judged(recorded)
    assert verdict.outcome is Outcome.PASS
    assert len(verdict.processes) == 1
    assert [Path(log.path).name for log in verdict.logs] == ["compile.log", NAME + ".gz"]


def test_what_only_the_trace_shows_blocks(tmp_path: Path) -> None:
    record(tmp_path, program(FALLBACK))
    verdict = judged(tmp_path / "compile.log")
    assert verdict.outcome is Outcome.BLOCKED
    assert [finding.event.op for finding in verdict.findings] == ["aten::topk"]


def test_given_both_it_is_read_once(recorded: Path) -> None:
    for logs in ((recorded, recorded.parent / FOLDER), (recorded.parent / FOLDER / (NAME + ".gz"), recorded)):
        verdict = judged(*logs)
        assert verdict.outcome is Outcome.PASS
        assert len(verdict.logs) == 2


@pytest.mark.parametrize("change", ["byte", "line", "cut", "gone", "empty"])
def test_a_trace_that_is_not_the_sealed_one_never_passes(recorded: Path, change: str) -> None:
    place = recorded.parent / FOLDER / (NAME + ".gz")
    data = gzip.decompress(place.read_bytes())
    assert data.decode() == trace(KERNEL)
    if change == "gone":
        place.unlink()
    else:
        changed = {
            "byte": data.replace(b"triton_poi", b"triton_pox"),
            "line": b"".join(data.splitlines(keepends=True)[:-1]),
            "cut": data[:-1],
            "empty": b"",
        }[change]
        place.write_bytes(gzip.compress(changed))
    for logs in ((recorded,), (recorded, recorded.parent / FOLDER)):
        if change == "gone" and len(logs) == 2:
            continue  # a folder without a file is an input that is missing
        verdict = judged(*logs)
        assert verdict.outcome is Outcome.UNPROVEN
        assert any("the seal is broken" in (log.problem or "") for log in verdict.logs)


def test_a_trace_may_be_unpacked(recorded: Path) -> None:
    packed = recorded.parent / FOLDER / (NAME + ".gz")
    (recorded.parent / FOLDER / NAME).write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    assert judged(recorded).outcome is Outcome.PASS


def test_log_and_traces_may_move_together(recorded: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "artefact"
    elsewhere.mkdir()
    (elsewhere / ".git").mkdir()
    shutil.move(recorded.parent / FOLDER, elsewhere / FOLDER)
    shutil.move(recorded, elsewhere / "renamed.log")
    assert judged(elsewhere / "renamed.log").outcome is Outcome.PASS


def test_in_an_archive_they_are_found_beside_it(recorded: Path) -> None:
    archive = recorded.parent / "run.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(recorded.parent / FOLDER / (NAME + ".gz"), f"out/{FOLDER}/{NAME}.gz")
        packed.write(recorded, "out/compile.log")
    verdict = judged(archive)
    assert verdict.outcome is Outcome.PASS
    assert len(verdict.logs) == 2
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(recorded, "out/compile.log")
    assert judged(archive).outcome is Outcome.UNPROVEN


def test_a_user_s_own_folder_of_traces_is_taken_in(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    own = tmp_path / "own"
    own.mkdir()
    (own / "dedicated_log_torch_trace_old.log").write_text("of an earlier run\n")
    done = record(tmp_path, program(FALLBACK), variables={"TORCH_TRACE": str(own)})
    assert done.returncode == 0
    assert [one.name for one in (tmp_path / FOLDER).iterdir()] == [NAME + ".gz"]
    assert (own / NAME).exists()
    assert judged(tmp_path / "compile.log").outcome is Outcome.BLOCKED


@pytest.mark.parametrize(
    "name",
    [
        "../x.traces/t.log",
        "x.traces/../../t.log",
        "/etc/x.traces/t.log",
        "x.traces",
        "x.traces/",
        "/t.log",
        "..",
        "x.traces/..",
        "x.traces/a/b.log",
        "x.traces\\t.log",
        "C:x.traces/t.log",
        "elsewhere/t.log",
        "x.traces/t\n.log",
        "",
    ],
)
def test_a_name_that_climbs_out_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.traces").mkdir()
    (tmp_path / "x.traces" / "t.log").write_text("x")
    log = Source("log", True, 1, tmp_path / "log")
    found = beside(log, Trace(name, 1, ""), [])
    assert isinstance(found, str)
    assert "outside" in found


def test_the_folder_that_print_env_names_may_be_set_by_hand(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    record(tmp_path, program(FALLBACK), variables={"TORCH_TRACE": str(tmp_path / FOLDER)})
    assert judged(tmp_path / "compile.log").outcome is Outcome.BLOCKED
