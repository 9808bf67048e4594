"""Room 3: the tables at the head of a printed HLO module, and what callbacks take from them."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import gather, read_waiting
from fallback_gate.compilers.matching import Budget
from fallback_gate.model import Location, Report
from fallback_gate.scan.kept import MOST, Kept
from fallback_gate.scan.window import Scan
from fallback_gate.sources.parts import HISTORY, Part

Read = Callable[..., Any]
BOOK = Book(READERS)


def head(
    name: str = "jit_route", parents: tuple[int, ...] = (1, 2, 3), file: str = "/app/tables.py"
) -> list[str]:
    """The head of a module: `pick` is called by `route`, which the module itself calls."""
    places = ((1, 1, 83), (1, 2, 26), (2, 3, 9))
    return [
        f"HloModule {name}, is_scheduled=true, entry_computation_layout={{(f32[4,8]{{1,0}})->f32[4,3]{{1,0}}}}",
        "",
        "FileNames",
        '1 "/app/warehouse.py"',
        f'2 "{file}"',
        "",
        "FunctionNames",
        '1 "<module>"',
        '2 "route"',
        '3 "Router.pick"',
        "",
        "FileLocations",
        *(
            f"{i} {{file_name_id={file} function_name_id={function} line={line} end_line={line} column=8 end_column=9}}"
            for i, (file, function, line) in enumerate(places, 1)
        ),
        "",
        "StackFrames",
        *(f"{i} {{file_location_id={i} parent_frame_id={parent}}}" for i, parent in enumerate(parents, 1)),
        "",
        "",
        "ENTRY %main.1 (x.1: f32[4,8]) -> f32[4,3] {",
    ]


def call(frame: int | None = 3, name: str = "pure_callback.1", path: str = "jit(route)/pure_callback") -> str:
    """A callback's instruction."""
    at = "" if frame is None else f" stack_frame_id={frame}"
    return (
        f'  %{name} = s32[4,2]{{1,0}} custom-call(%x.1), custom_call_target="xla_ffi_python_cpu_callback", '
        f'metadata={{op_type="pure_callback" op_name="{path}"{at}}}, backend_config={{index = 0 : ui64}}'
    )


def placed(reports: list[Report]) -> list[tuple[Location | None, tuple[str, ...], tuple[str, ...]]]:
    """Place, stack and files of each."""
    return [(report.location, report.stack, report.files) for report in reports]


PICK = (
    Location("/app/tables.py", 9, "Router.pick"),
    ("Router.pick", "route"),
    ("/app/tables.py", "/app/warehouse.py"),
)
ROUTE = (Location("/app/warehouse.py", 26, "route"), ("route",), ("/app/warehouse.py",))
NOWHERE = (None, ("route",), ())


def test_a_callback_has_the_stack_that_its_frame_names(read: Read) -> None:
    (report,) = said = read(*head(), call()).reports
    assert placed(said) == [PICK]
    assert (report.op, report.site, report.position) == ("pure_callback", None, 24)


@pytest.mark.parametrize(
    ("parents", "frame", "place"),
    [
        ((1, 2, 3), 2, ROUTE),
        ((0, 1, 2), 3, PICK),  # each its parent's own number
        ((0, 0, 2), 2, ROUTE),
        ((1, 1, 3), 2, ROUTE),
        ((1, 2, 4), 3, (PICK[0], ("Router.pick", "route"), PICK[2][:1])),  # its own parent
        ((7, 2, 3), 3, (PICK[0], ("Router.pick", "route"), PICK[2][:1])),  # nobody knows what says "none"
        ((1, 2, 3), 9, NOWHERE),
        ((1, 2, 3), None, NOWHERE),
    ],
)
def test_whose_parent_a_frame_names(
    read: Read, parents: tuple[int, ...], frame: int | None, place: Any
) -> None:
    assert placed(read(*head(parents=parents), call(frame)).reports) == [place]


def test_a_stack_that_never_ends_is_left(read: Read) -> None:
    (report,) = read(*head(parents=(0, 3, 2)), call(3)).reports
    assert report.stack == ("Router.pick", "route")
    assert report.location == PICK[0]


def test_each_module_has_its_own_tables(read: Read) -> None:
    other = head("jit_train", file="/app/train.py")
    said = read(*head(), call(), "}", "", *other, call(3), "}", "", "HloModule jit_last", call(3)).reports
    assert [report.location and report.location.file for report in said] == [
        "/app/tables.py",
        "/app/train.py",
        None,
    ]
    assert [report.site for report in said] == [None, None, "jit_last/pure_callback.1"]


def test_names_are_unescaped_and_local_functions_are_named_as_in_their_source(read: Read) -> None:
    lines = "\n".join(head(file='C:\\\\app\\\\a \\"b\\".py'))
    for name, shown in {
        "serve.<locals>.pick": "pick",
        "Router.pick.<locals>.<lambda>": "Router.pick.<lambda>",
        "<lambda>": "<lambda>",
    }.items():
        (report,) = read(*lines.replace("Router.pick", name).split("\n"), call()).reports
        assert report.location == Location('C:\\app\\a "b".py', 9, shown)
        assert report.stack[0] == shown


def test_modules_of_several_writers_do_not_mix(read: Read) -> None:
    mine, theirs = head(), head("jit_other", file="/app/other.py")
    lines = [
        line
        for pair in zip(mine, theirs, strict=True)
        for line in (f"[rank0]: {pair[0]}", f"[rank1]: {pair[1]}")
    ]
    said = read(*lines, f"[rank1]: {call()}", f"[rank0]: {call()}").reports
    assert [report.location and report.location.file for report in said] == [
        "/app/other.py",
        "/app/tables.py",
    ]


def test_what_wraps_a_loop_is_no_function(read: Read) -> None:
    lines = [
        call(None, path=f"jit(lanes)/jit(main)/{part}/body/pure_callback")
        for part in ("vmap(while)", "jvp(step)")
    ]
    assert [report.stack for report in read(*lines).reports] == [("lanes",), ("step", "lanes")]


def test_a_function_is_known_by_its_module_alone(read: Read) -> None:
    bare = (
        '  debug_print.1 = () custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", sharding={}'
    )
    (report,) = read(
        "HloModule jit_shelve, entry_computation_layout={()->f32[]}", "", "ENTRY main.1 {", bare
    ).reports
    assert (report.op, report.stack, report.names[1]) == ("debug_print", ("shelve",), "jax.debug.print")
    (report,) = read("HloModule jit__lambda_", bare).reports
    assert report.stack == ()
    text = "    stablehlo.custom_call @xla_ffi_python_cpu_callback(%2) {has_side_effect = true} : (tensor<f32>) -> ()"
    (report,) = read("module @jit_shelve attributes {mhlo.num_partitions = 1 : i32} {", text).reports
    assert report.stack == ("shelve",)


def test_tables_far_above_are_still_known(read: Read) -> None:
    between = [f"  %add.{i} = f32[] add(%a, %b)" for i in range(1000)]
    many = [f"%fused.{i} (p: f32[]) -> f32[] {{" for i in range(300_000)]  # more than the window holds
    assert placed(read(*head(), *between, *many, call()).reports) == [PICK]


def test_tables_that_are_longer_than_what_is_kept_tell_less_and_nothing_wrong(read: Read) -> None:
    lines = head()
    row = lines.index("StackFrames") + 4
    lines[row:row] = [f"{i} {{file_location_id=3 parent_frame_id=3}}" for i in range(4, 40_000)]
    near, far = read(*lines, call(9), call(39_990)).reports
    assert placed([near, far]) == [PICK, NOWHERE]


def test_a_part_of_a_log_that_does_not_show_the_head_does_not_decide() -> None:
    text = b"noise\n" * 20_000 + "\n".join([*head(), call()]).encode() + b"\n"

    def told(first: int) -> tuple[str | None, list[Any]]:
        reports: list[Report] = []
        stream = BytesIO(text[first - HISTORY :])
        scan = Scan(BOOK.anchors, stream, count_lines=False, part=Part(first, first, None, ()))
        said = gather("x.log", scan, BOOK, lambda report, _: reports.append(report), Budget())
        return said.extent.problem, placed(reports)

    assert told(text.index(b"HloModule")) == (None, [PICK])
    assert told(text.index(b"ENTRY")) == ("what stands before this part of it decides", [])


def test_whoever_reads_ahead_does_not_forget() -> None:
    kept = Kept()
    kept.put("module", ("a",), 1)
    ahead = kept.copy()
    ahead.put("module", ("a",), 2)
    assert (kept.get("module", ("a",)), ahead.get("module", ("a",)), kept.get("module", ())) == (1, 2, None)
    for writer in range(MOST):
        kept.put("module", (str(writer),), writer)
    assert (kept.get("module", ("a",)), kept.get("module", ("0",))) == (None, 0)


def test_waiting_hits_are_read_again_with_the_module_they_stand_in() -> None:
    text = "\n".join(
        [
            *head(),
            call(),
            call(name="pure_callback.2"),
            "}",
            "",
            *head("jit_train", file="/app/train.py"),
            call(),
            "",
        ]
    ).encode()
    reports: list[Report] = []

    def tell(report: Report, _: object) -> None:
        reports.append(report)
        read_waiting("x.log", scan, BOOK, settled=True)

    scan = Scan(BOOK.anchors, BytesIO(text), count_lines=True)
    gather("x.log", scan, BOOK, tell, Budget())
    assert [report.location and report.location.file for report in reports] == [
        "/app/tables.py",
        "/app/tables.py",
        "/app/train.py",
    ]
