"""The front door: `fallback-gate roofline`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fallback_gate.cli.options import Day, Typed, form
from fallback_gate.cli.output import to_files, to_stdout
from fallback_gate.errors import InputError
from fallback_gate.model import quantity

if TYPE_CHECKING:
    from fallback_gate.instruments.devices import Roof
    from fallback_gate.instruments.roofline import Reading, Work


class Amount(Typed[float]):
    """An amount with a unit."""

    def __init__(self, name: str, units: Mapping[str, float]) -> None:
        self.name, self.units = name, units

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the amount."""
        if isinstance(value, float):
            return value
        try:
            return quantity.amount(value, self.units)
        except ValueError as wrong:
            self.fail(str(wrong), param, ctx)


class Kernel(Typed[tuple[float, float]]):
    """FLOP:BYTES."""

    name = "flop:bytes"

    def convert(
        self, value: str | tuple[float, float], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, float]:
        """Read both amounts."""
        if isinstance(value, tuple):
            return value
        try:
            return quantity.kernel(value)
        except ValueError as wrong:
            self.fail(str(wrong), param, ctx)


class Gain(Typed[float]):
    """A gain as a factor or a percentage."""

    name = "gain"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """`2`, `2x` and `100%` are the same."""
        if isinstance(value, float):
            return value
        try:
            return quantity.gain(value)
        except ValueError as wrong:
            self.fail(str(wrong), param, ctx)


_BYTES, _FLOPS = Amount("bytes", quantity.BYTES), Amount("flop", quantity.FLOPS)
_OPTIONS = (
    click.option("-d", "--device", metavar="NAME", help="A device of the table (--devices lists it)."),
    click.option("--dtype", default="bf16", show_default=True, help="Precision of the arithmetic."),
    click.option("--sparse", is_flag=True, help="The peak with 2:4 sparsity, not the dense one."),
    click.option("--peak", type=Amount("flop/s", quantity.RATE), help="Your device's peak, as 990TFLOPS."),
    click.option("--bandwidth", type=Amount("bytes/s", quantity.BANDWIDTH), help="Its memory, as 3.35TB/s."),
    click.option("--flops", type=_FLOPS, help="Arithmetic of one kernel, as 137GFLOP."),
    click.option("--bytes", "moved", type=_BYTES, help="Bytes that it reads and writes, as 201MB."),
    click.option("--matmul", metavar="MxNxK", help="A matrix product, ideal and without reuse."),
    click.option("--rows", type=click.IntRange(1), help="A decode step: sequences in the batch."),
    click.option("--weights", type=_BYTES, help="A decode step: bytes of all weights that it reads."),
    click.option(
        "--kv", type=_BYTES, default=0.0, help="A decode step: bytes of the KV cache that it reads."
    ),
    click.option("--kernel", type=Kernel(), multiple=True, help="A fusion: a kernel before, FLOP:BYTES."),
    click.option("--bytes-before", type=_BYTES, help="A fusion: bytes of all kernels before."),
    click.option("--bytes-after", type=_BYTES, help="A fusion: bytes of the fused kernel."),
    click.option("--claim", type=Gain(), metavar="GAIN", help="The gain that was promised, as 2x or 15%."),
    click.option("-p", "--policy", metavar="FILE|builtin:NAME", help="The policy that judges the claim."),
    click.option("--today", type=Day(), metavar="YYYY-MM-DD", help="Judge as of this day (UTC)."),
    click.option("--counters", metavar="FILE", help="Kernels to plot, from Nsight Compute."),
    click.option("--plot", type=click.Path(path_type=Path), help="Draw the roofline: FILE.svg or FILE.png."),
    click.option("--gains", metavar="FILE", help="Judge a file of gains, each with its fusion (docs)."),
    click.option("--devices", is_flag=True, help="List the devices with their peaks and sources."),
    form("text", "json"),
)


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("roofline")
@_with_options
def roofline_command(
    form: str, devices: bool, plot: Path | None, counters: str | None, gains: str | None, **asked: Any
) -> int:
    """Say what bounds a kernel, and how much a fusion can gain at most.

    Bytes bound a kernel whose arithmetic for each byte is below the machine's balance; a fusion of such
    kernels gains what it saves in bytes, and no more.

    Exit codes: 0, 1 where a claim is above the bound, 2 usage.

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
        to_stdout(dump.dump(listed) if form == "json" else roofline_report.devices(rows))
        return 0
    if gains:
        return _gains(gains, form, asked["policy"], asked["today"])
    roof = _roof(asked)
    reading = _reading(roof, asked)
    if plot is not None:
        _plot(roof, reading, counters, plot)
    elif counters:
        raise InputError("--counters are kernels to plot: name the picture with --plot FILE.svg")
    held = _held(reading, asked["policy"], asked["today"])
    refused = held is not None and held[0] == "refused"
    told = roofline.data(reading)
    if form == "json":
        to_stdout(dump.dump({**told, "verdict": held[0] if held else None, "exit_code": int(refused)}))
    else:
        to_stdout(roofline_report.text(told, held[1] if held else None))
    return int(refused)


def _gains(path: str, form: str, policy: str | None, today: date | None) -> int:
    from fallback_gate.cli.instrument import Asked, answer
    from fallback_gate.judging.gains import read

    shared = Asked(policy, today, form, exit_zero=False, color="auto", quiet=False, verbose=0)
    return answer(read(path), shared, ())


def _roof(asked: Mapping[str, Any]) -> Roof | None:
    from dataclasses import replace

    from fallback_gate.instruments import devices

    name, peak, bandwidth = asked["device"], asked["peak"], asked["bandwidth"]
    if name is None:
        if peak is None and bandwidth is None:
            return None
        if not peak or not bandwidth:
            raise InputError(
                "your own device needs both --peak and --bandwidth, above zero; or name a --device"
            )
        return devices.Roof("your device", asked["dtype"].lower(), peak, bandwidth, asked["sparse"])
    if peak and bandwidth:
        return devices.Roof(name, asked["dtype"].lower(), peak, bandwidth, asked["sparse"])
    if peak:
        one = devices.device(name)
        return devices.Roof(
            one.name, asked["dtype"].lower(), peak, one.bandwidth, asked["sparse"], one.source
        )
    roof = devices.roof(name, asked["dtype"], sparse=asked["sparse"])
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
    elif asked["moved"]:
        work = roofline.Work(asked["flops"] or 0.0, asked["moved"])
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
    if not all(part.strip().isdecimal() and 0 < int(part) < 10**9 for part in parts) or len(parts) not in (
        1,
        3,
    ):
        raise InputError(f"--matmul {text!r} is no size: write 4096x4096x4096, or 4096 for a square")
    sizes = [int(part) for part in parts] * (3 if len(parts) == 1 else 1)
    return sizes[0], sizes[1], sizes[2]


def _held(reading: Reading, policy: str | None, today: date | None) -> tuple[str, str] | None:
    """What the policy says of the claim, as a word and a sentence; None without a claim."""
    from datetime import datetime, timezone

    from fallback_gate import policy as policies
    from fallback_gate.model.measures import Measurement, State
    from fallback_gate.policy.instruments import hold

    over = reading.claim_over_bound
    if over is None or reading.fusion is None or reading.claim is None:
        return None
    today = today or datetime.now(timezone.utc).date()
    rule = policies.load(policies.find(policy, os.environ, Path.cwd()), today)
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
    points = []
    if reading.work and reading.attainable:
        points.append(
            roofline_plot.Point(reading.work.name or "kernel", reading.work.intensity, reading.attainable)
        )
    if counters:
        from fallback_gate.instruments.counters import kernel_points

        points += kernel_points(counters, roof)
    points = [replace(point, name=safe.inline(point.name)) for point in points]
    if place.suffix.lower() == ".png":
        try:
            roofline_plot.png(roof, points, place)
        except OSError as problem:
            raise InputError(f"cannot write {place}: {problem.strerror}") from None
    elif place.suffix.lower() == ".svg":
        to_files([(str(place), roofline_plot.svg(roof, points))], keep=[counters or ""])
    else:
        raise InputError(f"--plot {place}: the name ends in .svg or .png")
    click.echo(safe.inline(f"fallback-gate: the roofline is in {place}"), err=True)
