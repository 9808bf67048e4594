"""Room 3: where callbacks in StableHLO come from: aliases around the module, as JAX 0.4 and 0.12 print them."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import gather
from fallback_gate.compilers.matching import Budget
from fallback_gate.compilers.runtimes import mlir_places
from fallback_gate.model import Location, Report
from fallback_gate.scan.window import Scan

Read = Callable[..., Any]
BOOK = Book(READERS)


def module(name: str = "route", file: str = "/app/tables.py", between: int = 0) -> list[str]:
    """A module whose method `pick` calls back; some of its aliases stand before it."""
    return [
        '#loc1 = loc("x")',
        '#loc5 = loc("/app/warehouse.py":83:0)',
        '#loc12 = loc("<module>"(#loc5))',
        f"module @jit_{name} attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}} {{",
        '  func.func public @main(%arg0: tensor<4x8xf32> loc("x")) -> (tensor<4x3xf32> {jax.result_info = ""}) {',
        *["    %7 = stablehlo.add %6, %6 : tensor<4x3xf32> loc(#loc5)"] * between,
        "    %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0) {api_version = 4 : i32} : (tensor<4x8xf32>) -> tensor<4x2xi32> loc(#loc31)",
        "    return %6 : tensor<4x3xf32> loc(#loc)",
        "  } loc(#loc)",
        "} loc(#loc)",
        "#loc = loc(unknown)",
        f'#loc2 = loc("{file}":9:15 to :109)',
        '#loc3 = loc("/app/warehouse.py":26:10)',
        '#loc10 = loc("Router.pick"(#loc2))',
        f'#loc11 = loc("{name}"(#loc3))',
        "#loc18 = loc(callsite(#loc11 at #loc12))",
        "#loc29 = loc(callsite(#loc10 at #loc18))",
        f'#loc30 = loc("jit({name})/jit(main)/pure_callback"(#loc29))',
        '#loc31 = loc("pure_callback:"(#loc30))',
    ]


def places(reports: list[Report]) -> list[tuple[str, Location | None, tuple[str, ...], tuple[str, ...]]]:
    """Operator, place, stack and files of each."""
    return [(report.op, report.location, report.stack, report.files) for report in reports]


def pick(name: str = "route", file: str = "/app/tables.py") -> Any:
    """The one callback of the module."""
    return (
        "pure_callback",
        Location(file, 9, "Router.pick"),
        ("Router.pick", name),
        (file, "/app/warehouse.py"),
    )


@pytest.mark.parametrize("wrap", ["", "[rank3]: ", "2026-11-29T12:00:00.0005305Z "])
def test_aliases_before_and_behind_a_module_give_the_stack(wrap: str, read: Read) -> None:
    assert places(read(*(wrap + line for line in module())).reports) == [pick()]


@pytest.mark.parametrize("gap", [[], [""], ["done route (4, 3)"]])
def test_modules_that_follow_each_other_do_not_mix(gap: list[str], read: Read) -> None:
    reports = read(*module(), *gap, *module("train", "/app/train.py"), *gap, *module(between=20_000)).reports
    assert places(reports) == [pick(), pick("train", "/app/train.py"), pick()]


def test_what_is_not_there_is_not_made_up(read: Read) -> None:
    known = ("callback", None, ("route",), ())
    lines = module()
    assert places(read(*lines[:9]).reports) == [known]
    assert places(read(*lines[:9], *(line for line in lines[9:] if "#loc31 =" not in line)).reports) == [
        known
    ]
    cut = [line for line in lines if not line.startswith("#loc12")]
    assert places(read(*cut).reports) == [pick()]  # <module> is no function
    cut = [line for line in lines if not line.startswith("#loc18")]
    assert places(read(*cut).reports)[0][1:3] == (
        Location("/app/tables.py", 9, "Router.pick"),
        ("Router.pick", "route"),
    )


def test_aliases_that_go_in_a_circle_end(read: Read) -> None:
    lines = [line.replace("#loc10 at #loc18", "#loc29 at #loc29") for line in module()]
    assert places(read(*lines).reports) == [("pure_callback", None, ("route",), ())]


def test_the_aliases_of_a_module_are_read_once() -> None:
    lines = module(between=400)
    call = next(line for line in lines if "custom_call" in line)
    at = lines.index(call)
    lines[at:at] = [call.replace("%0", f"%a{n}") for n in range(2000)]
    scan = Scan(BOOK.anchors, BytesIO("\n".join(lines).encode()), count_lines=True)
    reports: list[Report] = []
    said = gather("x.log", scan, BOOK, lambda report, _: reports.append(report), Budget())
    assert said.extent.problem is None
    assert {report.location for report in reports} == {Location("/app/tables.py", 9, "Router.pick")}
    assert len(reports) == 2001
    assert scan.overlap.most < len("\n".join(lines)) // 256 + mlir_places.MOST
