"""The settings table, laid over the user's own, and printed for those who set it themselves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fallback_gate.capture.found import python_of, versions
from fallback_gate.capture.plan import chosen, plan
from fallback_gate.capture.ranks import expected, own
from fallback_gate.capture.table import DANGERS, TABLE
from fallback_gate.compilers import READERS
from fallback_gate.errors import InputError
from tests.capture.recording import environment, record, run

TORCH = "dynamo,graph_breaks,recompiles,perf_hints"


def test_the_table_speaks_of_readers() -> None:
    assert {stack.name for stack in TABLE} <= READERS.keys()
    assert len({stack.name for stack in TABLE}) == len(TABLE)
    for stack in TABLE:
        assert stack.settings or stack.strict or stack.instead, stack.name
        assert stack.page.startswith("https://"), stack.name


def test_one_variable_has_one_value_unless_its_stacks_exclude_each_other() -> None:
    plain = [setting for stack in TABLE if not stack.wordy for setting in stack.settings]
    assert len({(s.variable, s.value) for s in plain}) == len({s.variable for s in plain})


def test_a_strict_mode_that_proves_is_one_that_is_set() -> None:
    offered = {(s.variable, s.value) for stack in TABLE for s in stack.strict}
    proving = {
        item for reader in READERS.values() for mode in reader.strict for item in mode.variables.items()
    }
    assert proving <= offered


def test_what_is_not_set_is_set() -> None:
    made = plan(chosen(["torch"], {}), {}, "/x/compile.log.traces", {}, strict=False)
    assert made.variables["TORCH_TRACE"] == "/x/compile.log.traces"
    assert made.variables["TORCH_LOGS"] == TORCH
    assert not made.weaker
    assert made.in_force == made.variables


@pytest.mark.parametrize(
    ("version", "value"),
    [
        ("2.0.1", TORCH),
        ("2.1.2+cu121", TORCH + ",output_code"),
        ("2.4.1", TORCH),
        ("2.14.1+cpu", TORCH + ",cudagraphs"),
        ("git", TORCH),
    ],
)
def test_an_artifact_is_asked_only_of_a_release_that_knows_it(version: str, value: str) -> None:
    made = plan(chosen(["torch"], {}), {}, "t", {"torch": version}, strict=False)
    assert made.variables["TORCH_LOGS"] == value


def test_what_the_user_set_is_respected_and_said_where_it_shows_less() -> None:
    mine = {
        "TORCH_LOGS": "graph_breaks",
        "MLIR_ENABLE_DIAGNOSTICS": "remarks,warnings",
        "TORCHDYNAMO_DISABLE": "1",
    }
    made = plan(chosen([], {}), mine, "t", {}, strict=False)
    assert not made.variables.keys() & mine.keys()
    assert made.in_force["TORCH_LOGS"] == "graph_breaks"
    assert made.respected == {"TORCH_LOGS": "graph_breaks", "TORCHDYNAMO_DISABLE": "1"}
    assert [note.split("=")[0] for note in made.weaker] == ["TORCH_LOGS", "TORCHDYNAMO_DISABLE"]


def test_an_empty_variable_says_nothing() -> None:
    made = plan(chosen(["torch"], {}), {"TORCH_LOGS": ""}, "t", {"torch": "2.14.1"}, strict=False)
    assert made.variables["TORCH_LOGS"].startswith(TORCH)
    assert made.in_force["TORCH_LOGS"] == made.variables["TORCH_LOGS"]
    assert not made.weaker


@pytest.mark.parametrize("value", ["+dynamo,graph_breaks,recompiles,perf_hints,+inductor", TORCH])
def test_what_shows_more_is_not_weaker(value: str) -> None:
    assert not plan(chosen([], {}), {"TORCH_LOGS": value}, "t", {}, strict=False).weaker


def test_a_danger_that_is_off_is_none() -> None:
    for danger in DANGERS:
        assert not danger.holds("")
    quiet = {"TORCHDYNAMO_DISABLE": "0", "TRITON_INTERPRET": "false", "PYTHONWARNINGS": "default"}
    assert not plan(chosen([], {}), quiet, "t", {}, strict=False).weaker


def test_strict_modes_are_set_when_asked_for() -> None:
    off = plan(chosen(["gaudi"], {}), {}, "t", {}, strict=False)
    on = plan(chosen(["gaudi"], {}), {}, "t", {}, strict=True)
    assert "PT_HPU_PLACE_ON_CPU" not in off.variables
    assert on.variables["PT_HPU_PLACE_ON_CPU"] == "none"
    assert set(on.strict) == {"PT_HPU_PLACE_ON_CPU", "PT_HPU_USE_EAGER_FALLBACK"}
    mine = plan(chosen(["gaudi"], {}), {"PT_HPU_PLACE_ON_CPU": "all"}, "t", {}, strict=True)
    assert mine.strict == ("PT_HPU_USE_EAGER_FALLBACK",)
    assert mine.in_force["PT_HPU_PLACE_ON_CPU"] == "all"


def test_what_prints_at_every_call_is_set_by_name_or_where_it_is_installed() -> None:
    assert "miopen" not in {stack.name for stack in chosen([], {})}
    assert "miopen" in {stack.name for stack in chosen(["rocm"], {})}
    assert "mindspore" in {stack.name for stack in chosen([], {"mindspore": "2.4"})}


def test_names_narrow_and_a_wrong_one_is_told() -> None:
    assert {stack.name for stack in chosen(["torch", "tvm"], {})} >= {"torch.compile", "tvm.relax"}
    assert "triton" not in {stack.name for stack in chosen(["torch", "tvm"], {})}
    with pytest.raises(InputError, match="did you mean triton"):
        chosen(["tritn"], {})


def test_the_command_s_own_python_is_asked(tmp_path: Path) -> None:
    here = environment()
    assert versions([sys.executable, "x.py"], here, ["pyyaml", "no-such-package"]) == {
        "pyyaml": yaml.__version__
    }
    assert versions(["sh", "-c", "true"], here, ["pyyaml"]) == {}
    assert python_of(["env", "A=1", sys.executable, "x.py"], here) == sys.executable


@pytest.mark.skipif(sys.platform == "win32", reason="scripts with a first line that names Python")
def test_a_script_names_its_python(tmp_path: Path) -> None:
    script = tmp_path / "torchrun"
    script.write_text(f"#!{sys.executable}\nprint(1)\n")
    script.chmod(0o755)
    assert python_of(["torchrun"], {"PATH": str(tmp_path)}) == sys.executable


@pytest.mark.parametrize(
    ("command", "count"),
    [
        (["torchrun", "--nproc-per-node=2", "x.py"], 2),
        (["torchrun", "--standalone", "--nproc_per_node", "8", "x.py"], 8),
        (["python", "-m", "torch.distributed.run", "--nproc-per-node", "4", "x.py"], 4),
        (["torchrun", "--nnodes=2", "--nproc-per-node=2", "x.py"], None),
        (["torchrun", "--nproc-per-node=gpu", "x.py"], None),
        (["torchrun", "--standalone", "x.py"], None),
        (["python", "x.py", "--nproc-per-node=2"], None),
    ],
)
def test_how_many_ranks_a_launcher_starts(command: list[str], count: int | None) -> None:
    assert expected(None, command, {}) == count
    assert expected(5, command, {}) == 5


def test_the_rank_of_a_recorder_that_a_launcher_started() -> None:
    assert own({"RANK": "3"}) == 3
    assert own({"OMPI_COMM_WORLD_RANK": "0"}) == 0
    assert own({"RANK": "x"}) is None
    assert expected(None, ["python"], {"WORLD_SIZE": "8"}) == 8


def printed(folder: Path, form: str) -> str:
    done = run(folder, "record", "--print-env", form, "--compilers", "torch,triton")
    assert done.returncode == 0
    return done.stdout.decode()


WANTED = {
    "TORCH_TRACE": "compile.log.traces",
    "TORCH_LOGS": TORCH,
    "MLIR_ENABLE_DIAGNOSTICS": "warnings,remarks",
}


def test_print_env_for_workflows_and_pods(tmp_path: Path) -> None:
    github = yaml.safe_load(printed(tmp_path, "github"))["env"]
    assert github.items() >= WANTED.items()
    assert github["TRITON_ALWAYS_COMPILE"] == "1"  # text, as both want it
    pod = yaml.safe_load(printed(tmp_path, "kubernetes"))["env"]
    assert {one["name"]: one["value"] for one in pod} == github


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_print_env_for_a_shell(tmp_path: Path) -> None:
    script = (
        printed(tmp_path, "shell")
        + f'{sys.executable} -c "import json, os; print(json.dumps(dict(os.environ)))"'
    )
    told = subprocess.run(["sh", "-c", script], capture_output=True, env={}, check=True).stdout
    assert json.loads(told).items() >= WANTED.items()


def test_print_env_for_a_dockerfile(tmp_path: Path) -> None:
    lines = printed(tmp_path, "dockerfile").splitlines()
    assert f'ENV TORCH_LOGS="{TORCH}"' in lines
    assert all(line.startswith("ENV ") for line in lines)


def test_the_command_sees_the_settings_and_the_header_tells_them(tmp_path: Path) -> None:
    program = (
        "import os; print(os.environ['TORCH_LOGS'], os.environ['TORCH_TRACE'], os.environ['NVTE_DEBUG'])"
    )
    done = record(tmp_path, program, variables={"NVTE_DEBUG": "0"})
    assert done.stdout.split() == [TORCH.encode(), f"{tmp_path}/compile.log.traces".encode(), b"0"]
    assert b"NVTE_DEBUG=0 was set already" in done.stderr
    header = json.loads((tmp_path / "compile.log").read_bytes().splitlines()[0])
    assert header["settings"]["TORCH_LOGS"] == TORCH
    assert header["respected"] == {"NVTE_DEBUG": "0"}
