"""What files of evidence rule out: real files of an H200, and the forms that tools of others are known to print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate.errors import InputError
from fallback_gate.instruments.exclusions import read, taken
from fallback_gate.instruments.exclusions.dcgm import reasons
from fallback_gate.instruments.exclusions.seen import Seen
from fallback_gate.model.exclusions import Cause, Exclusions, Standing

DATA = Path(__file__).parents[1] / "data" / "instruments"
IDLE, BUSY, GATHER = (
    str(DATA / name) for name in ("nvidia-smi-q.idle.txt", "dmon.a_full.txt", "dmon.g_gather.txt")
)
LOAD = [str(DATA / name) for name in ("nvidia-smi-q.load.xml", "dmon.load.txt")]
OUT, FOUND, OPEN = Standing

AT_WORK = """==============NVSMI LOG==============
Timestamp                                 : {time}
Driver Version                            : 550.54.15
CUDA Version                              : 12.4
Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Minor Number                          : 2
    {reasons}
        Idle                              : Not Active
        Applications Clocks Setting       : Active
        SW Power Cap                      : {cap}
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                  : {spent} us
    Utilization
        Gpu                               : 99 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity     : 0
            DRAM Correctable              : 177
            DRAM Uncorrectable            : {ecc}
        Aggregate
            DRAM Uncorrectable            : 9
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 0
        Pending                           : {pending}
        Remapping Failure Occurred        : No
    Clocks
        Graphics                          : {clock} MHz
        SM                                : {clock} MHz
        Memory                            : 2619 MHz
    Max Clocks
        Graphics                          : 1980 MHz
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
"""
QUIET = {
    "time": "Mon Nov 30 00:38:58 2026",
    "reasons": "Clocks Event Reasons",
    "cap": "Not Active",
    "spent": "0",
    "ecc": "0",
    "pending": "No",
    "clock": "1965",
}
VLLM = (
    "(APIServer pid=1) INFO 11-30 02:10:{second} [loggers.py:257] Engine 000: Avg prompt throughput: 12.5 tokens/s, "
    "Avg generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache "
    "usage: 31.0%, Prefix cache hit rate: 0.0%\n"
)


def query(**said: str) -> str:
    return AT_WORK.format(**{**QUIET, **said})


def serving(running: int, rate: float, waiting: int = 0, lines: int = 3) -> str:
    return "".join(
        VLLM.format(second=n, rate=rate, running=running, waiting=waiting) for n in range(10, 10 + lines)
    )


def states(found: Exclusions) -> dict[Cause, Standing]:
    return {one.cause: one.standing for one in found.causes}


def why(found: Exclusions, cause: Cause) -> str:
    return next(one.why for one in found.causes if one.cause is cause)


def from_text(tmp_path: Path, *texts: str, baseline: str | None = None) -> Exclusions:
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"e{number}.txt")
        paths[-1].write_text(text, encoding="utf-8")
    good = []
    if baseline is not None:
        good.append(str(tmp_path / "good.txt"))
        Path(good[0]).write_text(baseline, encoding="utf-8")
    return read([str(path) for path in paths], good).exclusions


def test_a_device_at_rest_says_nothing_of_the_run() -> None:
    """The real file stands at 345 of 1980 MHz, idle, and all its counters are 0."""
    found = read([IDLE]).exclusions
    assert set(states(found).values()) == {OPEN}
    assert "did no work" in why(found, Cause.CLOCKS)
    assert "are 0 until that moment" in why(found, Cause.THROTTLING)
    assert found.concluded(["gate_attn"]).conclusion == (
        "not ruled out: clocks, throttling, batch; so nothing follows yet"
    )


def test_clocks_alone_tell_no_boost() -> None:
    """dmon has 1980 MHz and not what the most is."""
    found = read([BUSY]).exclusions
    assert set(states(found).values()) == {OPEN}
    assert "do not tell the most" in why(found, Cause.CLOCKS)


def test_both_real_files_together_rule_clocks_and_throttling_out() -> None:
    found = read([BUSY, IDLE])
    assert states(found.exclusions)[Cause.CLOCKS] is OUT
    assert states(found.exclusions)[Cause.THROTTLING] is OUT
    # 6 of the 29 lines have sm at 10 or above, all of them at pclk 1980
    assert "GPU 0 at 1,980 of 1,980 MHz in 6 looks" in why(found.exclusions, Cause.CLOCKS)
    assert {one.name: one.version for one in found.environment.drivers} == {
        "nvidia": "580.159.04",
        "cuda": "13.0",
    }


def test_a_device_at_its_power_cap_is_slowed() -> None:
    """Matrix products without a pause: 692 W of 700, at 1455 to 1515 of 1980 MHz."""
    found = read(LOAD).exclusions
    assert states(found)[Cause.CLOCKS] is FOUND
    assert states(found)[Cause.THROTTLING] is FOUND
    assert "GPU 0 at 1,485 of 1,980 MHz in 9 looks" in why(found, Cause.CLOCKS)
    assert "GPU 0: sw power cap" in why(found, Cause.THROTTLING)


def test_against_a_baseline_the_same_clock_explains_nothing() -> None:
    found = read([GATHER], [BUSY]).exclusions
    assert states(found)[Cause.CLOCKS] is OUT
    assert "1,980 in the baseline" in why(found, Cause.CLOCKS)
    assert states(found)[Cause.THROTTLING] is OUT


def test_the_whole_sentence(tmp_path: Path) -> None:
    found = from_text(tmp_path, query(), serving(24, 979.0), baseline=serving(24, 4044.0))
    assert found.concluded(["gate_attn"]).conclusion == (
        "clocks at boost, no throttling, no device errors; mean batch unchanged, no queue; so: fallback (gate_attn), "
        "as far as these files go"
    )
    assert found.concluded([]).conclusion.endswith(
        "so: neither the device nor the load, and no input shows a fallback"
    )
    # 24 requests at 979 tokens a second are 24.5 ms a token of each, at 4044 they are 5.9
    assert found.facts == (
        "time per token of one sequence: 24.5 ms (running requests over tokens a second), 5.9 ms in the baseline",
    )


@pytest.mark.parametrize(
    ("said", "cause", "standing", "words"),
    [
        ({"cap": "Active"}, Cause.THROTTLING, FOUND, "GPU 2: sw power cap"),
        ({"cap": "Active", "reasons": "Clocks Throttle Reasons"}, Cause.THROTTLING, FOUND, "in 1 of 1 look"),
        ({"reasons": "Clocks Throttle Reasons"}, Cause.THROTTLING, OUT, "no reason was active"),
        ({"clock": "1590"}, Cause.CLOCKS, FOUND, "GPU 2 at 1,590 of 1,980 MHz"),
        ({"clock": "1881"}, Cause.CLOCKS, OUT, "1,881 of 1,980"),  # 95%
        ({"clock": "1880"}, Cause.CLOCKS, FOUND, "1,880 of 1,980"),
        ({"ecc": "2"}, Cause.DEVICE_ERRORS, FOUND, "GPU 2: 2 errors of memory"),
        ({"pending": "Yes"}, Cause.DEVICE_ERRORS, FOUND, "waits to be remapped"),
        ({}, Cause.DEVICE_ERRORS, OUT, "no error of memory is uncorrected, no repair of a device is due"),
    ],
)
def test_nvidia_smi(
    tmp_path: Path, said: dict[str, str], cause: Cause, standing: Standing, words: str
) -> None:
    found = from_text(tmp_path, query(**said))
    assert states(found)[cause] is standing
    assert words in why(found, cause)


def test_counters_that_grow_between_two_looks_are_throttling(tmp_path: Path) -> None:
    at_rest = query().replace("99 %", "0 %").replace("Idle                              : Not", "Idle : ")
    grown = at_rest.replace(": 0 us", ": 5000 us")
    assert states(from_text(tmp_path, at_rest, grown))[Cause.THROTTLING] is FOUND
    assert states(from_text(tmp_path, at_rest, at_rest))[Cause.THROTTLING] is OUT
    assert states(from_text(tmp_path, at_rest))[Cause.THROTTLING] is OPEN


XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>550.54.15</driver_version>
  <gpu id="00000000:3B:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <minor_number>3</minor_number>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_sw_thermal_slowdown>{heat}</clocks_event_reason_sw_thermal_slowdown>
    </clocks_event_reasons>
    <utilization><gpu_util>97 %</gpu_util></utilization>
    <ecc_errors><volatile><dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>
    <remapped_rows><remapped_row_pending>No</remapped_row_pending></remapped_rows>
    <clocks><sm_clock>1410 MHz</sm_clock><mem_clock>2619 MHz</mem_clock></clocks>
    <max_clocks><sm_clock>1980 MHz</sm_clock><mem_clock>2619 MHz</mem_clock></max_clocks>
  </gpu>
</nvidia_smi_log>
"""


def test_xml(tmp_path: Path) -> None:
    found = from_text(tmp_path, XML.format(heat="Active"))
    assert states(found)[Cause.THROTTLING] is FOUND
    assert "GPU 3: sw thermal slowdown" in why(found, Cause.THROTTLING)
    assert "GPU 3 at 1,410 of 1,980 MHz" in why(found, Cause.CLOCKS)
    assert states(from_text(tmp_path, XML.format(heat="Not Active")))[Cause.THROTTLING] is OUT


def test_xml_that_defines_entities_is_refused(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>'
    with pytest.raises(InputError, match="entities"):
        from_text(tmp_path, bomb)


DMON = "#Time gpu pwr gtemp mtemp sm mem enc dec jpg ofa mclk pclk pviol tviol sbecc dbecc\n#HH Idx W C C % % % % % % MHz MHz % bool errs errs\n"


def test_dmon_with_violations(tmp_path: Path) -> None:
    row = " 04:12:44 0 699 70 70 {sm} 17 0 0 - - 2619 {clock} {power} {heat} 0 {errors}\n"
    quiet = row.format(sm=99, clock=1980, power=0, heat=0, errors=0)
    assert states(from_text(tmp_path, DMON + quiet))[Cause.THROTTLING] is OUT
    capped = row.format(sm=99, clock=1590, power=87, heat=0, errors=1)
    found = from_text(tmp_path, DMON + quiet + capped)
    assert "in 1 of 2 looks at work (GPU 0: power violation)" in why(found, Cause.THROTTLING)
    assert states(found)[Cause.DEVICE_ERRORS] is FOUND
    idle = row.format(sm=0, clock=345, power=99, heat=1, errors=0)
    assert states(from_text(tmp_path, DMON + quiet + idle))[Cause.THROTTLING] is OUT


def test_a_look_with_reasons_does_not_speak_for_looks_without(tmp_path: Path) -> None:
    """nvidia-smi -q finds it quiet once; dmon has low clocks and no reasons."""
    capped = "# gpu sm mclk pclk\n# Idx % MHz MHz\n" + "    2 99 2619 1590\n" * 20
    found = from_text(tmp_path, query(), capped)
    assert states(found)[Cause.THROTTLING] is OPEN
    assert states(found)[Cause.CLOCKS] is FOUND


def test_a_node_of_equal_devices(tmp_path: Path) -> None:
    second = (
        query().split("GPU 0000")[1].replace("Minor Number                          : 2", "Minor Number : 3")
    )
    text = query() + "GPU 0000" + second
    from_text(tmp_path, text + text)  # looked at twice
    assert read([str(tmp_path / "e0.txt")]).environment.devices == ("2 x NVIDIA H100 80GB HBM3",)


def test_throttling_as_in_the_baseline_explains_no_difference(tmp_path: Path) -> None:
    row = " 04:12:44 0 699 70 70 99 17 0 0 - - 2619 1590 87 0 0 0\n"
    found = from_text(tmp_path, DMON + row, baseline=DMON + row)
    assert states(found)[Cause.THROTTLING] is OUT
    assert "100% in the baseline" in why(found, Cause.THROTTLING)
    assert states(found)[Cause.CLOCKS] is OUT
    better = row.replace("1590 87", "1980 0")
    worse = from_text(tmp_path, DMON + row, baseline=DMON + better)
    assert states(worse)[Cause.THROTTLING] is FOUND
    assert states(worse)[Cause.CLOCKS] is FOUND


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0x0000000000000000", ()),
        ("0x0000000000000001", ()),  # idle
        ("0x0000000000000004", ("sw power cap",)),
        ("0x48", ("hw slowdown", "hw thermal slowdown")),
        ("160", ("sw thermal slowdown", "hw power brake slowdown")),
        ("4.0", ("sw power cap",)),
        ("N/A", None),
        ("9223372036854775792", None),  # DCGM's blank
        ("", None),
        ("-1", None),
    ],
)
def test_reasons_as_bits(text: str, names: tuple[str, ...] | None) -> None:
    assert reasons(text) == names


def test_dcgmi_dmon(tmp_path: Path) -> None:
    text = (
        "#Entity   SMCLK   DVCCTR    GPUTL  XIDER\nID\n"
        "    GPU 0  1590  4  99  0\n    GPU 1  1980  0  98  0\n    GPU 2  345  1  0  N/A\n"
    )
    found = from_text(tmp_path, text)
    assert (
        why(found, Cause.THROTTLING) == "the device was slowed in 1 of 2 looks at work (GPU 0: sw power cap)"
    )
    assert states(from_text(tmp_path, text.replace("0  98  0", "0  98  79")))[Cause.DEVICE_ERRORS] is FOUND


def test_dcgm_prometheus(tmp_path: Path) -> None:
    text = "\n".join(
        f'DCGM_FI_DEV_{name}{{gpu="1",UUID="GPU-x",modelName="NVIDIA A100-SXM4-80GB",Hostname="a}}b"}} {value}'
        for name, value in (
            ("SM_CLOCK", 1410),
            ("GPU_UTIL", 100),
            ("CLOCK_THROTTLE_REASONS", 0),
            ("XID_ERRORS", 0),
        )
    )
    found = from_text(tmp_path, text)
    assert states(found)[Cause.THROTTLING] is OUT
    assert states(found)[Cause.DEVICE_ERRORS] is OUT
    assert states(found)[Cause.CLOCKS] is OPEN
    assert taken([str(tmp_path / "e0.txt")]).names == {"GPU 1": "NVIDIA A100-SXM4-80GB"}


AMD = """GPU: 0
    USAGE:
        GFX_ACTIVITY: {use} %
        VCN_ACTIVITY: [0 %, 0 %]
    CLOCK:
        GFX_0:
            CLK: {clock} MHz
            MIN_CLK: 500 MHz
            MAX_CLK: 2100 MHz
        MEM_0:
            CLK: 1300 MHz
            MAX_CLK: 1300 MHz
    ECC:
        TOTAL_CORRECTABLE_COUNT: 4
        TOTAL_UNCORRECTABLE_COUNT: 0
    THROTTLE:
        PROCHOT_ACCUMULATED: 0
        PROCHOT_VIOLATION_STATUS: NOT ACTIVE
        PPT_VIOLATION_STATUS: {power}
        LOW_UTILIZATION_VIOLATION_STATUS: ACTIVE
"""


@pytest.mark.parametrize(
    ("said", "throttling", "clocks"),
    [
        ({"use": "100", "clock": "2095", "power": "NOT ACTIVE"}, OUT, OUT),
        ({"use": "100", "clock": "1500", "power": "ACTIVE"}, FOUND, FOUND),
        ({"use": "100", "clock": "2095", "power": "N/A"}, OUT, OUT),
        ({"use": "0", "clock": "132", "power": "NOT ACTIVE"}, OPEN, OPEN),
        ({"use": "N/A", "clock": "132", "power": "NOT ACTIVE"}, OPEN, OPEN),
    ],
)
def test_amd_smi(tmp_path: Path, said: dict[str, str], throttling: Standing, clocks: Standing) -> None:
    found = from_text(tmp_path, AMD.format(**said))
    assert states(found)[Cause.THROTTLING] is throttling
    assert states(found)[Cause.CLOCKS] is clocks
    assert states(found)[Cause.DEVICE_ERRORS] is OUT


def test_amd_smi_json(tmp_path: Path) -> None:
    device = {
        "gpu": 3,
        "usage": {"gfx_activity": {"value": 100, "unit": "%"}},
        "clock": {
            "gfx_0": {"clk": {"value": 1200, "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}}
        },
        "throttle": {"hbm_thermal_violation_status": "ACTIVE"},
        "ecc": {"total_uncorrectable_count": 1},
    }
    for document in ([device], {"gpu_data": [device]}):
        found = from_text(tmp_path, json.dumps(document))
        assert "GPU 3: hbm thermal" in why(found, Cause.THROTTLING)
        assert "GPU 3 at 1,200 of 2,100 MHz" in why(found, Cause.CLOCKS)
        assert states(found)[Cause.DEVICE_ERRORS] is FOUND


ROCM = """
========================================= ROCm System Management Interface =========================================
Device  [Model : Revision]    Temp        Power     Partitions      SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
0       [0x74a1 : 0x00]       45.0°C      173.0W    NPS1, SPX       {clock}Mhz  900Mhz  0%   auto  750.0W    0%   {use}%
        AMD Instinct MI300X
"""


def test_rocm_smi_tells_a_clock_and_no_more(tmp_path: Path) -> None:
    found = from_text(tmp_path, ROCM.format(clock=2100, use=99))
    assert states(found)[Cause.CLOCKS] is OPEN
    assert "do not tell the most" in why(found, Cause.CLOCKS)
    assert states(from_text(tmp_path, ROCM.format(clock=132, use=0)))[Cause.CLOCKS] is OPEN
    lines = (
        "GPU[0]\t\t: Supported sclk frequencies on GPU0\nGPU[0]\t\t: 0: 500Mhz\nGPU[0]\t\t: 1: 2100Mhz *\n"
        "GPU[0]\t\t: sclk clock level: 1: (2100Mhz)\nGPU[0]\t\t: GPU use (%): 98\n"
    )
    assert states(from_text(tmp_path, lines))[Cause.CLOCKS] is OUT


NPU = """NPU ID                         : 4
Chip Count                     : 1

Chip ID                        : 0
Aicore Usage Rate(%)           : {use}
Aicore Freq(MHZ)               : 1800
Aicore curFreq(MHZ)            : {clock}
Temperature(C)                 : 46

Chip Name                      : mcu
Temperature(C)                 : 40
"""


def test_npu_smi(tmp_path: Path) -> None:
    assert states(from_text(tmp_path, NPU.format(use=70, clock=1800)))[Cause.CLOCKS] is OUT
    assert states(from_text(tmp_path, NPU.format(use=0, clock=800)))[Cause.CLOCKS] is OPEN
    found = from_text(tmp_path, NPU.format(use=70, clock=1500))
    assert "NPU 4 at 1,500 of 1,800 MHz" in why(found, Cause.CLOCKS)
    ecc = "NPU ID                    : 4\nHBM Single Bit Error Count : 3\nHBM Double Bit Error Count : {}\n"
    assert states(from_text(tmp_path, ecc.format(0)))[Cause.DEVICE_ERRORS] is OUT
    assert states(from_text(tmp_path, ecc.format(1)))[Cause.DEVICE_ERRORS] is FOUND


def test_the_table_of_npu_smi(tmp_path: Path) -> None:
    text = """+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.0.3                 Version: 24.1.0.3                                             |
+===========================+===============+====================================================+
| 6     910B4               | {health} | 85.6        38                0    / 0             |
| 0                         | 0000:82:00.0  | 0           0    / 0          2856 / 32768         |
"""
    assert states(from_text(tmp_path, text.format(health="OK")))[Cause.DEVICE_ERRORS] is OUT
    found = from_text(tmp_path, text.format(health="Alarm"))
    assert "NPU 6: health is Alarm" in why(found, Cause.DEVICE_ERRORS)
    told = read([str(tmp_path / "e0.txt")]).environment
    assert (told.devices, [one.version for one in told.drivers]) == (("910B4",), ["24.1.0.3"])


@pytest.mark.parametrize(
    ("now", "before", "batch"),
    [((24, 979.0), (24, 4044.0), OUT), ((25, 979.0), (24, 4044.0), OUT), ((26, 979.0), (24, 4044.0), FOUND)],
)
def test_the_mean_batch(
    tmp_path: Path, now: tuple[int, float], before: tuple[int, float], batch: Standing
) -> None:
    assert states(from_text(tmp_path, serving(*now), baseline=serving(*before)))[Cause.BATCH] is batch
    assert states(from_text(tmp_path, serving(*now)))[Cause.BATCH] is OPEN


def test_the_queue(tmp_path: Path) -> None:
    long, short = serving(50, 1000.0, waiting=197), serving(50, 1000.0, waiting=3)
    assert states(from_text(tmp_path, long, baseline=short))[Cause.QUEUE] is FOUND
    assert states(from_text(tmp_path, short, baseline=long))[Cause.QUEUE] is OUT
    assert states(from_text(tmp_path, long))[Cause.QUEUE] is OPEN


def test_lines_of_an_idle_engine_are_no_batch(tmp_path: Path) -> None:
    found = from_text(tmp_path, serving(24, 979.0) + serving(0, 0.0), baseline=serving(24, 979.0))
    assert "24.0 requests running in the mean of 3 lines" in why(found, Cause.BATCH)


@pytest.mark.parametrize(
    ("line", "running", "waiting", "ms"),
    [
        ("[2026-01-01 00:02:00 TP0] Decode batch, #running-req: 4, #token: 512, token usage: 0.01, cuda graph: True, "
         "gen throughput (token/s): 200.0, #queue-req: 7,", 4, 7, 20.0),
        ("Decode batch. #running-req: 233, #token: 370959, token usage: 0.82, gen throughput (token/s): 4660.0, "
         "#queue-req: 317", 233, 317, 50.0),
        ("[2025-10-31 03:45:20 TP0] Decode batch [39913], #running-req: 78, #token: 432100, token usage: 0.27, cuda "
         "graph: True, gen throughput (token/s): 7800.0, #queue-req: 0,", 78, 0, 10.0),
        ("INFO 03-28 04:32:50 metrics.py:218] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 50.0 "
         "tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 0.0%", 1, 2, 20.0),
    ],
)  # fmt: skip
def test_lines_of_engines(tmp_path: Path, line: str, running: float, waiting: float, ms: float) -> None:
    path = tmp_path / "e.log"
    path.write_text(f"INFO starts\n{line}\n", encoding="utf-8")
    load = taken([str(path)]).loads
    assert (load.batch, load.queue, load.tpot) == (running, waiting, pytest.approx(ms))


def test_a_kernel_log(tmp_path: Path) -> None:
    quiet = "[    0.000000] Linux version 6.8.0\n[ 12.345678] nvidia: loading\n"
    assert states(from_text(tmp_path, quiet))[Cause.DEVICE_ERRORS] is OUT
    broken = quiet + "[99.100000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
    found = from_text(tmp_path, broken)
    assert states(found)[Cause.DEVICE_ERRORS] is FOUND
    assert "Xid (PCI:0000:3b:00): 79" in why(found, Cause.DEVICE_ERRORS)


def test_a_cause_that_was_found_stops_the_conclusion(tmp_path: Path) -> None:
    found = from_text(
        tmp_path, query(cap="Active", clock="1200"), serving(24, 979.0), baseline=serving(24, 979.0)
    )
    said = found.concluded(["gate_attn"]).conclusion
    assert "so: fallback" not in said
    assert "found: clocks below boost, throttling; put that right and measure again" in said


@pytest.mark.parametrize("text", ["", "hello\n", "{}", "[1, 2]", "<html></html>", "{broken", "a,b\n1,2\n"])
def test_what_is_no_evidence_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"e0\.txt"):
        from_text(tmp_path, text)


def test_the_look_in_which_a_file_is_cut_does_not_count(tmp_path: Path) -> None:
    """It may lack the very line that says a reason is active."""
    with pytest.raises(InputError, match="a line of more than"):
        from_text(tmp_path, query() + "x" * (1 << 20))
    found = from_text(tmp_path, query() + query(cap="Active") + "x" * (1 << 20))
    assert states(found)[Cause.THROTTLING] is OUT
    assert any("what stands before it was read" in fact for fact in found.facts)


@pytest.mark.parametrize(
    "begin", ["GPU: 0\n", "NPU ID : 0\n", "GPU[0] : x\n", query(), "# gpu sm\n", "#Entity\n"]
)
def test_endless_lines_of_blanks_take_no_time(tmp_path: Path, begin: str) -> None:
    """Quadratic patterns would take hours on these."""
    hostile = "".join(
        f"{text}\n" for text in ("a" + " " * 900_000 + "b", "=" * 900_000, "1 " * 450_000, "1Mhz " * 180_000)
    )
    path = tmp_path / "e.txt"
    path.write_text(query() + begin + hostile * 3, encoding="utf-8")
    read([str(path)])


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [*query().splitlines(), *AMD.splitlines(), *NPU.splitlines(), "GPU: 1", ": :", "#gpu"]
        ),
        max_size=60,
    ),
    st.text(max_size=60),
)
def test_any_mixture_of_lines_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], other: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "mixed.txt"
    path.write_text("\n".join([*lines, other]), encoding="utf-8", errors="replace")
    try:
        found = read([str(path)])
    except InputError:
        return
    assert found.exclusions.concluded([]).conclusion
    assert isinstance(taken([str(path)]), Seen)
