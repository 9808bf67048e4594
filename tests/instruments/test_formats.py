"""Small files of each format, written by hand after its manual, with counts that a person can check."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments.trace import Summary, read
from fallback_gate.instruments.trace.events import events

ATEN = "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)>"
STEP = [ATEN, "triton_poi_fused_add_0", "nvjet_tst_64x8", "ncclDevKernel_AllReduce", "argmax_last"]


def origins(found: Summary) -> dict[str, int]:
    return {name: count for name, count in found.by_origin.items() if count}


def rows(count: int = 4) -> list[tuple[str, int, int]]:
    """Kernels of steps: name, start and end in ns."""
    return [
        (name, 1000 * (len(STEP) * step + at) * 20, 1000 * ((len(STEP) * step + at) * 20 + 5))
        for step in range(count)
        for at, name in enumerate(STEP)
    ]


def nsys(path: Path, *, whole_graphs: bool = False, ranges: bool = True) -> Path:
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE StringIds (id INTEGER, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, correlationId INT, demangledName INT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, correlationId INT, nameId INT, globalTid INT);"
        "CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT, textId INT, eventType INT);"
    )
    names = [*STEP, "cudaLaunchKernel_v7000", "step"]
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    for at, (name, start, end) in enumerate(rows()):
        database.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?)", (start, end, at, STEP.index(name))
        )
        database.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
            (start - 9000, start - 8000, at, len(STEP), 1 << 62),
        )
    for step in range(4 if ranges else 0):
        start = 1000 * len(STEP) * step * 20 - 9500
        database.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, NULL, ?, 59)", (start, start + 95_000, len(STEP) + 1)
        )
    if whole_graphs:
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT)")
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1)")
    database.commit()
    database.close()
    return path


def test_nsight_systems_by_ranges_and_by_period(tmp_path: Path) -> None:
    for ranges, steps, how in ((True, 4, "annotations"), (False, 3, "periodicity")):
        found = read(nsys(tmp_path / f"{ranges}.sqlite", ranges=ranges))
        assert (found.format, found.steps, found.steps_from, found.kernels_per_step) == (
            "nsys-sqlite",
            steps,
            how,
            5,
        )
        assert origins(found) == {"eager": steps, "generated": steps, "library": 2 * steps, "other": steps}
        assert found.kernel_us_per_step == pytest.approx(25)
        assert ("aten::rsqrt", "eager") in found.operators


def test_graphs_that_were_traced_as_a_whole_prove_nothing(tmp_path: Path) -> None:
    found = read(nsys(tmp_path / "g.sqlite", whole_graphs=True))
    assert found.problem is not None
    assert "--cuda-graph-trace=node" in found.problem


def test_another_database_is_no_export(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "x.db")
    database.execute("CREATE TABLE t (a)")
    database.commit()
    database.close()
    assert "StringIds" in (read(tmp_path / "x.db").problem or "")
    (tmp_path / "cut.db").write_bytes((tmp_path / "x.db").read_bytes()[:500])
    assert "can't be read" in (read(tmp_path / "cut.db").problem or "")


def quoted(name: str) -> str:
    return f'"{name}"'


TABLES = {
    "nsys-csv": ("Start (ns),Duration (ns),CorrId,GrdX,Name", lambda n, s, e: f"{s},{e - s},1,8,{quoted(n)}"),
    "rocprofv3-csv": (
        '"Kind","Agent_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"',
        lambda n, s, e: f'"KERNEL_DISPATCH",1,{quoted(n)},7,{s},{e}',
    ),
    "rocprof-csv": (
        "Index,KernelName,gpu-id,BeginNs,EndNs,DurationNs",
        lambda n, s, e: f"0,{quoted(n)},0,{s},{e},{e - s}",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_with_a_row_for_each_kernel(name: str, tmp_path: Path) -> None:
    head, row = TABLES[name]
    path = tmp_path / "table.csv"
    path.write_text(
        "\n".join(["# a note before it", head, *(row(*kernel) for kernel in rows())]) + "\n", "utf-8"
    )
    found = read(path)
    assert (found.format, found.steps, found.kernels_per_step, found.problem) == (name, 3, 5, None)
    assert origins(found) == {"eager": 3, "generated": 3, "library": 6, "other": 3}
    assert found.kernel_us_per_step == pytest.approx(25)


NSYS_COLUMNS = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
)
ROCPROFV3_COLUMNS = (
    "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,"
    "End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Workgroup_Size_X,"
    "Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z"
)


def test_what_nsys_stats_prints_before_and_between_the_kernels(tmp_path: Path) -> None:
    kernels = [f'{s},{e - s},{s},1,1,1,1,1,1,40,0,0,,,,,GPU (0),1,,7,"{n}"' for n, s, e in rows()]
    copies = [f"{e + 1},5,{e},,,,,,,,,,0.001,90,Pageable,Device,GPU (0),1,,7,[CUDA memcpy Host-to-Device]"
              for _, _, e in rows()]  # fmt: skip
    said = ["", "NOTICE: Existing SQLite export found: d.sqlite", "        It is assumed file was exported", "",
            "Processing [d.sqlite] with [/opt/nsys/reports/cuda_gpu_trace.py]... ", NSYS_COLUMNS]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join([*said, *kernels, *copies]) + "\n", "utf-8")
    found = read(tmp_path / "t.csv")
    assert (found.format, found.kernels_per_step, found.problem) == ("nsys-csv", 5, None)


def test_what_rocm_s_runtime_copies_by_kernels_is_no_kernel_of_the_program(tmp_path: Path) -> None:
    lines = [
        f'"KERNEL_DISPATCH","Agent 2",1,0,70,1,33,"{name}",1,{start},{end},0,0,12,4,48,256,1,1,256,1,1'
        for kernel, begin, stop in rows()
        for name, start, end in (
            (kernel, begin, stop),
            ("__amd_rocclr_fillBufferAligned", stop + 1, stop + 2),
        )
    ]
    (tmp_path / "k.csv").write_text("\n".join([ROCPROFV3_COLUMNS, *lines]) + "\n", "utf-8")
    found = read(tmp_path / "k.csv")
    assert (found.format, found.kernels_per_step, found.problem) == ("rocprofv3-csv", 5, None)


def test_processes_that_number_their_calls_alike(tmp_path: Path) -> None:
    """Two ranks launch a kernel each, both as call 1: the range on the host of the first holds its launch alone."""
    database = sqlite3.connect(tmp_path / "two.sqlite")
    database.executescript(
        "CREATE TABLE StringIds (id INTEGER, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL"
        " (start INT, end INT, correlationId INT, globalPid INT, demangledName INT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, correlationId INT, nameId INT, globalTid INT);"
        "CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT, textId INT, eventType INT);"
        "INSERT INTO StringIds VALUES (0, 'triton_a'), (1, 'cudaLaunchKernel');"
    )
    for step in range(3):
        for rank, pid in enumerate((500, 501)):
            owner, start = (1 << 48) | (pid << 24), 1_000_000 * step + 100_000 * rank
            launch, kernel = start + 1000, start + 400_000
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, 1, ?)",
                (launch, launch + 10, step, owner | 7),
            )
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, 0)",
                (kernel, kernel + 5000, step, owner),
            )
        database.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 'decode', NULL, 59)",
            (1_000_000 * step, 1_000_000 * step + 50_000),
        )
    database.commit()
    database.close()
    found = read(tmp_path / "two.sqlite")
    assert (found.steps, found.steps_from, found.kernels_per_step) == (3, "annotations", 1)


def test_xla_on_the_cpu_counts_what_contains_and_not_what_is_contained(tmp_path: Path) -> None:
    meta = [
        {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 7, "tid": 1, "name": "thread_name", "args": {"name": "python"}},
        {"ph": "M", "pid": 7, "tid": 2, "name": "thread_name", "args": {"name": "tf_XLAPjRtCpuClient/5"}},
    ]
    spans = [
        {
            "ph": "X",
            "pid": 7,
            "tid": 1,
            "ts": 1000 * at,
            "dur": 900,
            "name": "decode",
            "args": {"step_num": str(at)},
        }
        for at in range(3)
    ]
    ops = [
        {
            "ph": "X",
            "pid": 7,
            "tid": 2,
            "ts": 1000 * at + start,
            "dur": time,
            "name": name,
            "args": {"hlo_op": name},
        }
        for at in range(3)
        for name, start, time in (("while.1", 10, 500), ("add.2", 20, 30), ("ynn_fusion", 600, 50))
    ]
    (tmp_path / "cpu.json").write_text(json.dumps({"traceEvents": [*meta, *spans, *ops]}), "utf-8")
    found = read(tmp_path / "cpu.json")
    assert (found.format, found.steps, found.kernels_per_step, found.kernel_us_per_step) == ("xla", 3, 2, 550)
    assert origins(found) == {"generated": 3, "library": 3}
    assert any("no device" in note for note in found.notes)


def test_ascend_by_steps_and_the_cpu_counts_as_eager(tmp_path: Path) -> None:
    path = tmp_path / "kernel_details.csv"
    head = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)"
    lines = [
        f"{step},{name},{kind},{core},{1000 * step + 30 * at},12.5"
        for step in (1, 2)
        for at, (name, kind, core) in enumerate(
            [
                ("aclnnMatmul_1", "MatMulV2", "AI_CORE"),
                ("triton_fused_3", "triton", "AI_VECTOR_CORE"),
                ("Nonzero_9", "NonZero", "AI_CPU"),
                ("aclnnMul_MulAiCore_Mul", "Mul", "AI_VECTOR_CORE"),
            ]
        )
    ]
    path.write_text("\n".join([head, *lines]), "utf-8")
    found = read(path)
    assert (found.steps, found.kernels_per_step) == (2, 4)
    assert origins(found) == {"eager": 4, "generated": 2, "library": 2}
    assert ("NonZero", "eager") in found.operators


def test_sums_have_shares_and_no_steps(tmp_path: Path) -> None:
    path = tmp_path / "sum.csv"
    path.write_text(
        f'Time (%),Total Time (ns),Instances,Avg (ns),Name\n60.0,"3,000",3,1000,"{ATEN}"\n40.0,20000,1,20000,triton_a\n',
        "utf-8",
    )
    found = read(path)
    assert found.problem is not None
    assert (found.kernels, found.steps, found.small) == (4, 0, 3)
    assert found.share("eager") == 0.75
    assert found.time_share("generated") == pytest.approx(20 / 23)


@pytest.mark.parametrize("odd", [[1], {"a": 1}, None, True, 1e400])
@pytest.mark.parametrize("key", ["pid", "tid", "cat", "name", "ts", "dur", "args", "ph"])
def test_an_event_with_an_odd_value_leaves_the_others(key: str, odd: object, tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 7, "args": {}}
    events = [{**kernel, key: odd}, kernel, {"ph": "M", "name": "process_name", "args": {}, key: odd}]
    (tmp_path / "x").write_text(json.dumps(events), "utf-8")
    assert read(tmp_path / "x").kernels in (1, 2)


@pytest.mark.parametrize("text", ["", "hello\n", "{}", '{"a": [1]}', "a,b\n1,2\n", "[1, 2"])
def test_what_is_no_trace_is_an_error_of_input(text: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(text, "utf-8")
    with pytest.raises(InputError):
        read(tmp_path / "x")


def test_a_trace_that_is_cut_short_keeps_what_was_there_and_says_so(tmp_path: Path) -> None:
    whole = json.dumps(
        {
            "traceEvents": [
                {"ph": "X", "cat": "kernel", "name": n, "ts": s / 1000, "dur": 5, "args": {}}
                for n, s, _ in rows()
            ]
        }
    )
    (tmp_path / "cut.json").write_text(whole[:-40], "utf-8")
    found = read(tmp_path / "cut.json")
    assert found.kernels_per_step == 5
    assert "cut short" in (found.problem or "")


class Bytes:
    """A text that comes in pieces of a size."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        piece, self.data = self.data[: self.size], self.data[self.size :]
        buffer[: len(piece)] = piece
        return len(piece)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    found=st.lists(st.dictionaries(st.text(max_size=5), json_values, max_size=4), max_size=6),
    size=st.integers(1, 50),
    indent=st.sampled_from([None, 1]),
    bare=st.booleans(),
    ascii_only=st.booleans(),
)
def test_events_are_those_that_a_whole_parse_finds(
    found: list[dict[str, object]], size: int, indent: int | None, bare: bool, ascii_only: bool
) -> None:
    document = found if bare else {"schemaVersion": 1, "traceEvents": found, "traceName": "]}"}
    data = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    again = list(events(Bytes(data, size)))
    whole = json.loads(data.decode("utf-8", "replace"))
    assert again == (whole if bare else whole["traceEvents"])


@given(st.binary(max_size=200))
@example(b'{"name": "a"}, {"name": "b"}]}')
@example(b'{"name": "a"}, 3]}')
def test_no_bytes_break_the_reader(data: bytes) -> None:
    try:
        for event in events(Bytes(b'{"traceEvents": [' + data, 16)):
            assert isinstance(event, dict)
    except Unreadable:
        pass
