"""The front door: `fallback-gate roofline`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fallback_gate.cli.amounts import BANDWIDTH, BYTES, DECODE_STEP, FLOPS, GAIN, KERNEL, RATE
from fallback_gate.cli.instrument import Asked, answer, rule
from fallback_gate.cli.options import POLICY, TODAY, InSections, form
from fallback_gate.cli.output import say, to_files, to_stdout
from fallback_gate.errors import InputError

if TYPE_CHECKING:
    from fallback_gate.instruments.devices import Roof
    from fallback_gate.instruments.roofline import Reading, Work
    from fallback_gate.policy import Policy

_SECTIONS: Final = {
    "Device": ("device", "dtype", "sparse", "peak", "bandwidth"),
    "One kernel": ("flops", "bytes", "matmul", "rows", "weights", "kv"),
    "A fusion": ("kernel", "bytes_before", "bytes_after", "claim", "gains", "policy", "today"),
    "Reports": ("plot", "counters", "devices", "format"),
}


@click.command("roofline", cls=InSections, sections=_SECTIONS)
@click.option("-d", "--device", metavar="NAME", help="A device of the table (--devices lists it).")
@click.option("--dtype", default="bf16", show_default=True, help="Precision of the arithmetic.")
@click.option("--sparse", is_flag=True, help="The peak with 2:4 sparsity, not the dense one.")
@click.option("--peak", type=RATE, help="Your device's peak, as 990TFLOPS.")
@click.option("--bandwidth", type=BANDWIDTH, help="Its memory, as 3.35TB/s.")
@click.option("--flops", type=FLOPS, help="Arithmetic of one kernel, as 137GFLOP.")
@click.option("--bytes", type=BYTES, help="Bytes that it reads and writes, as 201MB.")
@click.option("--matmul", metavar="MxNxK", help="A matrix product, ideal and without reuse.")
@DECODE_STEP
@click.option("--kernel", type=KERNEL, multiple=True, help="A kernel before, FLOP:BYTES.")
@click.option("--bytes-before", type=BYTES, help="Bytes of all kernels before.")
@click.option("--bytes-after", type=BYTES, help="Bytes of the fused kernel.")
@click.option("--claim", type=GAIN, metavar="GAIN", help="The gain that was promised, as 2x or 15%.")
@click.option("--gains", metavar="FILE", help="A file of gains, each with its fusion: judge them all.")
@POLICY
@TODAY
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the roofline: FILE.svg or FILE.png.")
@click.option("--counters", metavar="FILE", help="With --plot: kernels to draw, from Nsight Compute.")
@click.option("--devices", is_flag=True, help="List the devices with their peaks and sources.")
@form("text", "json")
def roofline_command(
    format: str, devices: bool, plot: Path | None, counters: str | None, gains: str | None, **asked: Any
) -> int:
    """Say what bounds a kernel, and how much a fusion can gain at most.

    Bytes bound a kernel whose arithmetic for each byte is below the machine's balance; a fusion of such
    kernels gains what it saves in bytes, and no more.

    Exit codes: 0, 1 where a claim is above the bound, 2 usage, 3 where a file of gains does not tell.

    \b
    Examples:
      fallback-gate roofline -d H100-SXM --matmul 4096 --dtype fp32
      fallback-gate roofline -d H200 --rows 32 --weights 437MB --kv 60MB
      fallback-gate roofline --bytes-before 2109MB --bytes-after 1873MB --claim 2x
    """
    from fallback_gate.instruments import roofline
    from fallback_gate.reports import dump, roofline_report

    if devices:
        from fallback_gate.instruments.devices import table

        rows = roofline.device_data(table())
        listed = {"schema": "fallback-gate/devices-1", "devices": rows}
        to_stdout(dump.dump(listed) if format == "json" else roofline_report.devices(rows))
        return 0
    if gains:
        from fallback_gate.judging.gains import read

        shared = Asked(asked["policy"], asked["today"], format, False, "auto", False, 0)
        return answer(read(gains), shared, shared.rule())
    roof = _roof(asked)
    reading = _reading(roof, asked)
    if plot is not None:
        _plot(roof, reading, counters, plot)
    elif counters:
        raise InputError("--counters are kernels to plot: name the picture with --plot FILE.svg")
    held = None
    if reading.claim_over_bound is not None:
        held = _held(reading, reading.claim_over_bound, rule(asked["policy"], asked["today"]))
    refused = held is not None and held[0] == "refused"
    told = roofline.data(reading)
    if format == "json":
        to_stdout(dump.dump({**told, "verdict": held[0] if held else None, "exit_code": int(refused)}))
    else:
        to_stdout(roofline_report.text(told, held[1] if held else None))
    return int(refused)


def _roof(asked: Mapping[str, Any]) -> Roof | None:
    from dataclasses import replace

    from fallback_gate.instruments import devices

    name, peak, bandwidth = asked["device"], asked["peak"], asked["bandwidth"]
    dtype, sparse = asked["dtype"].lower(), asked["sparse"]
    if name is None and peak is None and bandwidth is None:
        return None
    if peak and bandwidth:
        return devices.Roof(name or "your device", dtype, peak, bandwidth, sparse)
    if name is None:
        raise InputError("your own device needs both --peak and --bandwidth, above zero; or name a --device")
    if peak:
        one = devices.device(name)
        return devices.Roof(one.name, dtype, peak, one.bandwidth, sparse, one.source)
    roof = devices.roof(name, dtype, sparse=sparse)
    return replace(roof, bandwidth=bandwidth) if bandwidth else roof


def _reading(roof: Roof | None, asked: Mapping[str, Any]) -> Reading:
    from fallback_gate.instruments import roofline

    work = naive = None
    dtype = asked["dtype"].lower()
    if (asked["matmul"] or asked["rows"]) and dtype not in roofline.BYTES_OF:
        raise InputError(f"no size of a {dtype!r} is known: --dtype is one of {', '.join(roofline.BYTES_OF)}")
    if asked["matmul"]:
        work, naive = roofline.matmul(*_sizes(asked["matmul"]), dtype)
    elif asked["rows"]:
        if not asked["weights"]:
            raise InputError("a decode step needs --weights, the bytes of all weights that it reads")
        work = roofline.decode(asked["rows"], asked["weights"], asked["kv"], dtype)
    elif asked["bytes"]:
        work = roofline.Work(asked["flops"] or 0.0, asked["bytes"])
    fusion = _fusion(roof, asked)
    if fusion is not None and work is None:
        work = fusion.after
    if roof is None and work is None:
        raise InputError("name a --device, or --peak and --bandwidth, or what a kernel does (see --help)")
    if asked["claim"] and fusion is None:
        raise InputError(
            "a claim is held against a fusion: give --kernel or --bytes-before, and --bytes-after"
        )
    return roofline.Reading(roof, work, naive, fusion, asked["claim"])


def _fusion(roof: Roof | None, asked: Mapping[str, Any]) -> Any:
    from fallback_gate.instruments import roofline

    kernels, before, after = asked["kernel"], asked["bytes_before"], asked["bytes_after"]
    if not kernels and before is None and after is None:
        return None
    if after is None or (not kernels and before is None) or (kernels and before is not None):
        raise InputError(
            "a fusion needs --bytes-after, and either --bytes-before or a --kernel for each before"
        )
    flops = asked["flops"] or 0.0
    parts: tuple[Work, ...] = tuple(roofline.Work(*kernel) for kernel in kernels)
    parts = parts or roofline.unsplit(flops, before, roof)
    try:
        return roofline.fusion(parts, roofline.Work(flops, after), roof)
    except ValueError as wrong:
        raise InputError(str(wrong)) from None


def _sizes(text: str) -> tuple[int, int, int]:
    parts = re.split(r"[x,*]", text.lower())
    if len(parts) not in (1, 3) or not all(p.strip().isdecimal() and 0 < int(p) < 10**9 for p in parts):
        raise InputError(f"--matmul {text!r} is no size: write 4096x4096x4096, or 4096 for a square")
    m, n, k = map(int, parts if len(parts) == 3 else parts * 3)
    return m, n, k


def _held(reading: Reading, over: float, rule: Policy) -> tuple[str, str]:
    """What the policy says of the claim, which is so many times the bound: a word and a sentence."""
    from fallback_gate.model.measures import Measurement, State
    from fallback_gate.policy.instruments import hold

    assert reading.fusion is not None
    held = hold([Measurement("roofline", "claim_over_bound", over, "the claim")], rule.bounds)[0]
    most = f"{reading.claim:.2f}x was claimed, and {reading.fusion.max_speedup:.2f}x is the most there can be"
    where = f"limit {held.limit.text}, {held.source or 'by default'}" if held.limit else "no limit"
    if held.state is State.EXCEEDED:
        return "refused", f"REFUSED (exit 1): {most}: {reading.fusion.why} ({where})"
    return "possible", f"POSSIBLE (exit 0): {most} ({where})"


def _plot(roof: Roof | None, reading: Reading, counters: str | None, place: Path) -> None:
    from dataclasses import replace

    from fallback_gate.instruments import roofline_plot
    from fallback_gate.reports import safe

    if roof is None:
        raise InputError("a roofline is drawn for a device: name a --device, or --peak and --bandwidth")
    if place.suffix.lower() not in roofline_plot.FORMS:
        raise InputError(f"--plot {place}: the name ends in .svg or .png")
    points = []
    if reading.work and reading.attainable:
        points.append(
            roofline_plot.Point(reading.work.name or "kernel", reading.work.intensity, reading.attainable)
        )
    if counters:
        points += roofline_plot.kernels(counters, roof)
    points = [replace(point, name=safe.inline(point.name)) for point in points]
    picture = roofline_plot.FORMS[place.suffix.lower()](roof, points)
    to_files([(str(place), picture)], keep=[counters or ""])
    say(f"the roofline is in {place}")
