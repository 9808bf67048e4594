"""Hardware counters, on measured files and on small ones whose means are worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.cli.main import cli
from fallback_gate.errors import InputError
from fallback_gate.instruments import counters, devices, roofline_plot

MISSIONS = Path(__file__).parents[2] / "examples" / "missions"
GATHERED, GROUPED = (
    str(MISSIONS / "gathered-experts" / f"{name}.ncu.csv.gz") for name in ("gathered", "grouped")
)
FUSION = str(Path(__file__).parents[1] / "data" / "instruments" / "ncu_fusion3.details.csv")


def _run(*arguments: str, code: int) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["counters", *arguments, "-f", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == code, result.stdout
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def _written(folder: Path, text: str, name: str = "c.csv") -> str:
    place = folder / name
    place.write_text(text, encoding="utf-8")
    return str(place)


def test_a_gathered_mixture_of_experts_is_found_and_named() -> None:
    told = _run(GATHERED, code=1)
    assert told["verdict"] == "blocked"
    assert told["whole"]["dram_pct"] == pytest.approx(81.4, abs=0.05)
    assert told["whole"]["tensor_pct"] == pytest.approx(1.49, abs=0.005)
    assert told["whole"]["launches"] == 49
    assert told["whole"]["dram_bytes"] == pytest.approx(10.47e9, rel=1e-3)
    named = {one["name"]: one["kind"] for one in told["fingerprints"]}
    assert named["whole"] == "gathered grouped GEMM"
    assert named["triton_poi_fused_index_9"] == named["triton_poi_fused_index_11"] == "gather"
    assert {"triton_poi_fused_index_9", "triton_poi_fused_index_11"} <= {e["op"] for e in told["events"]}


def test_a_grouped_gemm_is_not() -> None:
    told = _run(GROUPED, code=0)
    assert told["verdict"] == "pass"
    assert told["fingerprints"] == []
    assert told["whole"]["dram_pct"] == pytest.approx(43.5, abs=0.05)
    assert told["whole"]["tensor_pct"] == pytest.approx(19.8, abs=0.05)


def test_bytes_are_held_against_a_baseline() -> None:
    base = GROUPED
    told = _run(GATHERED, "--baseline", base, code=1)
    moved = next(one for one in told["measurements"] if one["name"] == "dram_bytes")
    assert moved["value"] / moved["baseline"] == pytest.approx(6.09, abs=0.01)
    assert moved["state"] == "exceeded"
    _run(base, "--baseline", base, code=0)


def test_bytes_of_some_kernels_are_no_sum(tmp_path: Path) -> None:
    text = f'{HEAD}{TENSOR},"dram__bytes.sum"\n"","","us","%","%","Mbyte"\n'
    whole = _written(tmp_path, text + '"0","a","5","30","30","7"\n"1","b","5","30","30","8"\n', "whole.csv")
    part = _written(tmp_path, text + '"0","a","5","30","30","7"\n"1","b","5","30","30","n/a"\n', "part.csv")
    assert [one.value for one in counters.read(whole).measurements if one.name == "dram_bytes"] == [15e6]
    assert not [one for one in counters.read(part).measurements if one.name == "dram_bytes"]
    _run(whole, "--baseline", part, code=3)
    _run(part, "--baseline", whole, code=3)
    _run(whole, "--baseline", whole, code=0)


def test_the_long_form_says_the_same() -> None:
    said = counters.read(FUSION)
    rows = {row["name"]: row for row in said.details["kernels"]}
    assert set(rows) == {"k_rowdot", "k_scale", "k_add", "k_fused"}
    assert rows["k_rowdot"]["dram_pct"] == pytest.approx(94.49)
    assert rows["k_rowdot"]["dram_bytes"] == pytest.approx(1.08e9)


def test_the_policy_sets_the_thresholds(tmp_path: Path) -> None:
    policy = _written(tmp_path, "version: 1\ninstruments:\n  counters: {hbm_above: 90%}\n", "p.yaml")
    told = _run(GATHERED, "-p", policy, code=0)
    assert told["thresholds"] == {"hbm_above_pct": 90, "tensor_below_pct": 20, "kernel_share_pct": 10}
    wrong = _written(tmp_path, "version: 1\ninstruments:\n  counters: {hbm_above: 130%}\n", "q.yaml")
    result = CliRunner().invoke(cli, ["counters", GATHERED, "-p", wrong])
    assert "q.yaml:3" in str(result.exception)
    assert "percentage" in str(result.exception)


HEAD = '"ID","Kernel Name","gpu__time_duration.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed"'
TENSOR = ',"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"'


def test_the_mean_is_weighted_by_time(tmp_path: Path) -> None:
    text = f'program output\n==PROF== Connected\n{HEAD}{TENSOR}\n"","","ms","%","%"\n'
    text += '"0","a","1,000.0","90","10"\n"1","b","3,000.0","50","30"\n'
    said = counters.read(_written(tmp_path, text))
    assert said.details["whole"]["dram_pct"] == pytest.approx((90 + 3 * 50) / 4)
    assert said.details["whole"]["tensor_pct"] == pytest.approx((10 + 3 * 30) / 4)
    assert said.details["kernels"][0]["microseconds"] == pytest.approx(3_000_000)
    assert [one["name"] for one in said.details["fingerprints"]] == ["a"]


def test_without_a_counter_of_the_matrix_units_nothing_passes(tmp_path: Path) -> None:
    told = _run(_written(tmp_path, f'{HEAD}\n"","","us","%"\n"0","a","5","30"\n'), code=3)
    assert told["verdict"] == "unproven"
    assert any("matrix units" in reason for reason in told["reasons"])


def test_a_table_that_is_cut_does_not_pass(tmp_path: Path) -> None:
    text = f'{HEAD}{TENSOR}\n"","","us","%","%"\n"0","a","5","30","30"\n"1","b","5"\n'
    told = _run(_written(tmp_path, text), code=3)
    assert any("in part" in reason for reason in told["reasons"])


DMON = """#Entity   GRACT        TENSO        DRAMA
ID
GPU 0     0.000        0.000        0.000
GPU 0     0.990        0.020        0.800
GPU 0     0.970        0.040        0.840
GPU 1     0.900        0.600        0.400
GPU 1     N/A          N/A          N/A
"""


def test_dcgm_dmon_by_device_without_idle_samples(tmp_path: Path) -> None:
    told = _run(_written(tmp_path, DMON, "dmon.txt"), code=1)
    rows = {row["name"]: row for row in told["kernels"]}
    assert rows["GPU 0"]["dram_pct"] == pytest.approx(82)
    assert rows["GPU 0"]["tensor_pct"] == pytest.approx(3)
    assert rows["GPU 1"]["tensor_pct"] == pytest.approx(60)
    assert [(one["scope"], one["name"]) for one in told["fingerprints"]] == [("device", "GPU 0")]


def test_dcgm_prometheus_over_two_scrapes(tmp_path: Path) -> None:
    text = "# TYPE DCGM_FI_PROF_DRAM_ACTIVE gauge\n"
    for dram, tensor in (("0.9", "0.1"), ("0.7", "0.2")):
        text += f'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{gpu="3",UUID="GPU-1"}} {tensor}\n'
        text += f'DCGM_FI_PROF_DRAM_ACTIVE{{gpu="3",UUID="GPU-1"}} {dram}\n'
    said = counters.read(_written(tmp_path, text, "metrics.prom"))
    assert [row["name"] for row in said.details["kernels"]] == ["GPU 3"]
    assert said.details["whole"]["dram_pct"] == pytest.approx(80)
    assert said.details["whole"]["tensor_pct"] == pytest.approx(15)


ROCPROFV3 = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id",'
    '"Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count",'
    '"SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'
)


def _dispatch(number: int, kernel: str, counter: str, value: float, begin: int, end: int) -> str:
    return (
        f'{number},{number},"Agent 1",1,9,9,64,3,"{kernel}",64,0,0,8,0,16,"{counter}",{value},{begin},{end}\n'
    )


def test_rocprofv3_bytes_against_the_bandwidth_of_the_device(tmp_path: Path) -> None:
    # 4.24 GB in 1 ms is 80% of the 5.3 TB/s of an MI300X
    text = ROCPROFV3
    for counter, value in (("FETCH_SIZE", 4.0e9 / 1024), ("WRITE_SIZE", 0.24e9 / 1024), ("MfmaUtil", 2.5)):
        text += _dispatch(1, "gather_rows", counter, value, 1_000_000, 2_000_000)
    path = _written(tmp_path, text)
    told = _run(path, "--device", "MI300X", code=1)
    assert told["kernels"][0]["dram_pct"] == pytest.approx(80)
    assert told["kernels"][0]["tensor_pct"] == pytest.approx(2.5)
    assert _run(path, code=3)["verdict"] == "unproven"  # bytes alone say nothing of the peak


def test_rocprof_one_column_for_each_counter(tmp_path: Path) -> None:
    text = (
        '"Index","KernelName","gpu-id","queue-id","MfmaUtil","FetchSize","WriteSize","BeginNs","EndNs"\n'
        f'0,"softmax_kernel",0,0,1.0,{4.0e9 / 1024},{0.24e9 / 1024},0,1000000\n'
    )
    said = counters.read(_written(tmp_path, text), device=devices.roof("MI300X", "bf16"))
    assert said.details["kernels"][0]["dram_pct"] == pytest.approx(80)
    assert said.details["fingerprints"][-1]["kind"] == "softmax"


def test_msprof_op_summary(tmp_path: Path) -> None:
    text = (
        "Device_id,Op Name,OP Type,Task Type,Task Duration(us),aic_mac_ratio,aic_mte2_ratio,aiv_mte2_ratio\n"
        "0,Gather_1,GatherV2,AI_VECTOR_CORE,900,N/A,N/A,0.91\n"
        "0,MatMul_1,MatMulV2,AI_CORE,100,0.8,0.3,N/A\n"
        "0,hcom,hcom_allReduce_,HCCL,5000,N/A,N/A,N/A\n"
    )
    said = counters.read(_written(tmp_path, text))
    assert said.details["kernels"][0]["name"] == "GatherV2"
    assert said.details["whole"]["dram_pct"] == pytest.approx(0.9 * 91 + 0.1 * 30)
    assert said.details["whole"]["tensor_pct"] == pytest.approx(0.1 * 80)  # a vector core has no cube unit
    assert [one["name"] for one in said.details["fingerprints"]] == ["whole", "GatherV2"]
    assert said.problem is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no counters"),
        ("# gpu    pwr  gtemp  mtemp     sm    mem\n# Idx\n    0  124 39 41 0 0\n", "dcgmi dmon -e"),
        ("a,b,c\n1,2,3\n", "no counters"),
        ("x" * 3_000_000, "a line of more than"),
    ],
)
def test_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        counters.read(_written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{HEAD}{TENSOR}\n", "without a single kernel"),
        (f'{HEAD}{TENSOR}\n"","","us","%","%"\n"0","a"\n', "read only in part"),
        ('"ID","Kernel Name","Metric Name"\n0,k,x\n', "without the column Metric Unit, Metric Value"),
        ("# Entity  TENSO  DRAMA\n  ID\nGPU 0 0.0 0.0\n", "without a single sample"),
    ],
)
def test_a_table_without_anything_is_unproven(tmp_path: Path, text: str, says: str) -> None:
    told = _run(_written(tmp_path, text), code=3)
    assert any(says in reason for reason in told["reasons"])
    assert told["measurements"] == []


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        counters.read(str(tmp_path / "missing.csv"))
    with pytest.raises(InputError, match="a folder"):
        counters.read(str(tmp_path))


@given(st.text(), st.text(max_size=200))
def test_any_rest_of_a_table_is_read_or_refused(tmp_path_factory: Any, name: str, rest: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    quoted = name.replace('"', '""')
    text = f'{HEAD}{TENSOR}\n"","","us","%","%"\n"0","{quoted}","5","90","1"\n{rest}'
    place = folder / "c.csv"
    place.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        said = counters.read(str(place))
    except InputError:
        return
    assert said.details["kernels"] or said.problem


def test_kernels_stand_on_the_roofline() -> None:
    roof = devices.roof("H200", "bf16")
    points = {p.name: p for p in roofline_plot.kernels(GROUPED, roof)}
    grouped = next(point for name, point in points.items() if name.startswith("void cutlass::device_kernel"))
    assert grouped.share == pytest.approx(0.513, abs=0.001)
    assert 10 < grouped.intensity < roof.balance
