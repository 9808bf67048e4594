"""The three missions, start to end: the commands of docs/missions.md, and what they say against what was measured.

`truth` was counted and measured by other programs; see each folder's origin.yaml.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.test_readme import ROOT, assert_prints, blocks, command

PAGE = (ROOT / "docs" / "missions.md").read_text(encoding="utf-8")
SESSIONS = [block.split("\n", 1) for block in blocks(PAGE, "console")]
COMMANDS = [line.removeprefix("$ fallback-gate ") for line, _ in SESSIONS]
MISSIONS = ROOT / "examples" / "missions"


def truth(mission: str) -> dict[str, Any]:
    said: dict[str, Any] = yaml.safe_load((MISSIONS / mission / "origin.yaml").read_text(encoding="utf-8"))
    for file in said["files"]:
        assert (MISSIONS / mission / file).is_file()
    told: dict[str, Any] = said["truth"]
    return told


def answer(*wanted: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of the page's command that holds all of these words."""
    (arguments,) = [line for line in COMMANDS if all(word in line for word in wanted)]
    done = command(*arguments.split(), "--format", "json")
    return done.returncode, json.loads(done.stdout)


def measured(said: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [one for one in said["measurements"] if one["name"] == name]
    found: dict[str, Any] = one
    return found


@pytest.mark.parametrize(("line", "quoted"), SESSIONS, ids=range(len(SESSIONS)))
def test_the_page_shows_what_the_command_prints(line: str, quoted: str) -> None:
    assert_prints(line.removeprefix("$ fallback-gate "), quoted)


def test_silent_attention() -> None:
    said = truth("silent-attention")
    code, found = answer("custom-op.debug.log.gz")
    assert (code, found["verdict"]) == (1, "blocked")
    first = found["events"][0]
    assert (first["op"], first["class"], first["decision"]) == (said["operator"], "hot", "blocked")
    assert said["aten_kernels"] <= first["cost"]["kernels_per_step"] <= said["kernels_per_step"]
    kernels = measured(found, "kernels_per_step")
    assert kernels["value"] == pytest.approx(said["kernels_per_step"], rel=0.01)
    assert kernels["baseline"] == pytest.approx(said["kernels_per_step_compiled"], rel=0.01)
    eager = measured(found, "eager_kernel_share")["value"]
    assert eager == pytest.approx(said["aten_kernels"] / said["kernels_per_step"], abs=0.02)
    code, found = answer("custom-op.default.log", "--trace")
    assert code == 1
    assert {"aten::softplus", "aten::sigmoid", "aten::log1p"} <= {event["op"] for event in found["events"]}
    assert answer("fixed.debug.log.gz", "--trace")[0] == 0


def test_gathered_experts() -> None:
    said = truth("gathered-experts")
    code, found = answer("--counters")
    assert (code, found["verdict"]) == (1, "blocked")
    blocked = [event["op"] for event in found["events"] if event["decision"] == "blocked"]
    assert blocked[0] == "gathered grouped GEMM"
    assert set(said["kernels"]) <= set(blocked)
    assert measured(found, "dram_share")["value"] * 100 == pytest.approx(said["dram_pct"], abs=0.1)
    assert measured(found, "tensor_share")["value"] * 100 == pytest.approx(said["tensor_pct"], abs=0.1)
    assert measured(found, "dram_bytes")["value"] == pytest.approx(said["dram_bytes"], rel=0.01)
    code, found = answer("counters ", "grouped.ncu")
    assert (code, found["verdict"]) == (0, "pass")
    assert found["whole"]["dram_pct"] == pytest.approx(said["dram_pct_grouped"], abs=0.1)
    assert found["whole"]["tensor_pct"] == pytest.approx(said["tensor_pct_grouped"], abs=0.1)
    code, found = answer("coverage", "gathered.trace.json.gz")
    assert (code, found["verdict"]) == (1, "blocked")
    assert [(cell["op"], cell["column"]) for cell in found["red"]] == [("gather + matmul", "fallback")]
    (cell,) = [cell for cell in found["cells"] if cell["op"] == "gather + matmul"]
    assert set(said["kernels"]) <= set(cell["by"])
    code, found = answer("check", "gathered.trace.json.gz")
    assert code == 0
    assert measured(found, "kernels_per_step")["value"] == said["kernels_per_step"]


def test_fusion() -> None:
    said = truth("fusion")
    code, found = answer("promised.yaml")
    assert (code, found["verdict"]) == (1, "blocked")
    before, after = said["bytes_counted"]
    (gain,) = found["gains"]
    assert gain["max_speedup"] == pytest.approx(before / after, rel=0.001)
    assert gain["claim_over_bound"] == pytest.approx(2 * after / before, rel=0.001)
    code, found = answer("measured.yaml")
    assert (code, found["verdict"]) == (0, "pass")
    by_size = said["bytes_by_size"][0] / said["bytes_by_size"][1]
    for name, value in (("max_speedup", by_size), ("speedup", said["speedup"])):
        assert measured(found, name)["value"] == pytest.approx(value, rel=0.02)


def test_each_mission_has_a_folder_and_commands() -> None:
    folders = {folder.name for folder in MISSIONS.iterdir() if folder.is_dir()}
    assert folders == {"silent-attention", "gathered-experts", "fusion"}
    assert all(any(f"missions/{name}/" in line for line in COMMANDS) for name in folders)
