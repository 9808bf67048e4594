"""Room 4: many reports, one event each, with honest counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

import pytest

from fallback_gate.events import fold as folding
from fallback_gate.events import variants
from fallback_gate.events.fold import Fold
from fallback_gate.events.gathered import MOST_LINES
from fallback_gate.model import Event, Kind, Location, Place, ProcessKey, Report, Scope

MAIN = ProcessKey("a.log", None, 1)


def report(op: str = "aten::topk", position: int = 1, **said: Any) -> Report:
    """A report; `at` is (file, line, function)."""
    at = said.pop("at", None)
    values: dict[str, Any] = {
        "id": "torch/fallback-kernel",
        "compiler": "torch.compile",
        "kind": Kind.OP_FALLBACK,
        "scope": Scope.OPERATOR,
        "op": op,
        "position": position,
        "text": f"the line at {position}",
        "location": Location(*at) if at else None,
    }
    return Report(**{**values, **said})


def lines(log: str, positions: Iterable[int]) -> Mapping[int, int]:
    """Line numbers: each position is ten times its line."""
    return {position: position // 10 for position in positions}


def folded(
    *said: Report | tuple[Report, ProcessKey], alias: Mapping[ProcessKey, ProcessKey] | None = None
) -> list[Event]:
    """The events of reports, printed by the main process where none is given."""
    fold = Fold()
    for one in said:
        fold.add(*((one, MAIN) if isinstance(one, Report) else one))
    return fold.events(lines, alias or {})


def test_the_same_report_again_is_the_same_event() -> None:
    (event,) = folded(*(report(position=p) for p in (50, 20, 90)))
    assert (event.count, event.sites, event.count_is_lower_bound) == (3, 1, False)
    assert event.lines == (2, 5, 9)
    assert event.line == 2


@pytest.mark.parametrize("ops", [("TopK", "topk"), ("topk", "TopK")])
def test_of_two_names_that_differ_in_case_the_same_is_told_in_any_order(ops: tuple[str, str]) -> None:
    (event,) = folded(*(report(op, position) for position, op in enumerate(ops)))
    assert (event.op, event.count) == ("topk", 2)


@pytest.mark.parametrize(
    "again", ["aten.topk", "aten.topk.default", "torch.ops.aten.topk.default", "ATen::topk"]
)
def test_other_spellings_are_the_same_operator(again: str) -> None:
    (event,) = folded(report(), report(again, 20))
    assert (event.op, event.count) == ("aten::topk", 2)


@pytest.mark.parametrize(
    "other",
    [
        {"op": "aten::sort"},
        {"kind": Kind.DEVICE_FALLBACK},
        {"compiler": "generic"},
        {"at": ("a.py", 3)},
    ],
)
def test_what_makes_another_event(other: dict[str, Any]) -> None:
    assert len(folded(report(at=("a.py", 2)), report(**{"position": 20, "at": ("a.py", 2), **other}))) == 2


def test_at_most_twenty_lines_and_all_reports_counted() -> None:
    (event,) = folded(*(report(position=10 * n) for n in range(1, 501)))
    assert event.lines == tuple(range(1, MOST_LINES + 1))
    assert event.count == 500


def test_sites_are_counted_apart_from_reports() -> None:
    (event,) = folded(*(report(position=n, site=f"0/0 call {n % 3}") for n in range(10, 100, 10)))
    assert (event.count, event.sites) == (9, 3)


@pytest.mark.parametrize(("bounds", "lower"), [((True,), True), ((True, True), True), ((True, False), False)])
def test_a_count_is_a_lower_bound_while_nothing_counts_each(bounds: tuple[bool, ...], lower: bool) -> None:
    (event,) = folded(*(report(position=n, at_least=bound) for n, bound in enumerate(bounds)))
    assert event.count_is_lower_bound is lower


def test_a_report_without_a_place_joins_the_one_that_has_it() -> None:
    break_ = {"kind": Kind.GRAPH_BREAK, "scope": Scope.SITE}
    (event,) = folded(
        report("Tensor.item", 20, names=("Tensor.item",), **break_),
        report("gate_attn", 50, names=("gate_attn", "Tensor.item"), at=("m.py", 3, "gate_attn"), **break_),
    )
    assert (event.op, event.count, event.line) == ("gate_attn", 2, 2)
    assert event.location == Location("m.py", 3, "gate_attn")


def test_a_report_without_a_place_joins_none_where_two_fit() -> None:
    break_ = {"kind": Kind.GRAPH_BREAK, "names": ("gate_attn", "Tensor.item")}
    events = folded(
        report("gate_attn", 10, at=("m.py", 3, "gate_attn"), **break_),
        report("gate_attn", 20, at=("m.py", 9, "gate_attn"), **break_),
        report("Tensor.item", 30, kind=Kind.GRAPH_BREAK),
    )
    assert [event.count for event in events] == [1, 1, 1]


def test_a_nameless_report_joins_the_event_at_its_place() -> None:
    break_ = {"kind": Kind.GRAPH_BREAK}
    (event,) = folded(
        report("*", 10, at=("m.py", 3), **break_),
        report("gate_attn", 20, at=("m.py", 3, "gate_attn"), stack=("gate_attn", "forward"), **break_),
    )
    assert (event.op, event.count, event.stack) == ("gate_attn", 2, ("gate_attn", "forward"))


def test_of_two_events_at_its_place_a_nameless_report_joins_the_same_in_any_order() -> None:
    break_ = {"kind": Kind.GRAPH_BREAK}
    said = [report(op, at, at=("m.py", 3, op), **break_) for op, at in (("b", 10), ("a", 20), ("c", 30))]
    for order in permutations((report("*", 5, at=("m.py", 3), **break_), *said)):
        events = folded(*order)
        assert sorted((event.op, event.count) for event in events) == [("a", 2), ("b", 1), ("c", 1)]


def test_nameless_reports_elsewhere_stay() -> None:
    events = folded(report("*", 10, scope=Scope.UNKNOWN), report("aten::topk", 20))
    assert [event.op for event in events] == ["*", "aten::topk"]


HINT = {"kind": Kind.GRAPH_BREAK, "hint": True}


def test_a_hint_stands_where_nothing_was_reported_outright() -> None:
    (event,) = folded(report("gate_attn", 10, at=("m.py", 4, "gate_attn"), **HINT))
    assert event.op == "gate_attn"


def test_a_hint_falls_where_the_same_break_was_reported() -> None:
    (event,) = folded(
        report("gate_attn", 10, at=("m.py", 4, "gate_attn"), **HINT),
        report("gate_attn", 20, at=("m.py", 3, "gate_attn"), kind=Kind.GRAPH_BREAK),
    )
    assert event.count == 1


def test_a_hint_of_one_function_does_not_fall_for_a_report_of_another() -> None:
    """At INFO only `Tensor.item()` is reported outright: the breaks elsewhere are told by hints alone."""
    events = folded(
        report(
            "gate_attn",
            10,
            at=("m.py", 3, "gate_attn"),
            stack=("gate_attn",),
            kind=Kind.GRAPH_BREAK,
            at_least=True,
        ),
        report("norm", 20, at=("n.py", 5, "norm"), **HINT),
    )
    assert [event.op for event in events] == ["gate_attn", "norm"]


def test_a_hint_falls_where_a_report_of_another_kind_tells_of_it_as_well() -> None:
    """`skipping cudagraphs due to cpu device`: that the graph is partly on the CPU, a hint has told before."""
    hint = report("*", 10, kind=Kind.DEVICE_FALLBACK, hint=True)
    for also, kinds in (
        ((), [Kind.DEVICE_FALLBACK, Kind.CUDAGRAPH_SKIP]),
        ((Kind.DEVICE_FALLBACK,), [Kind.CUDAGRAPH_SKIP]),
    ):
        skipped = report("decode", 20, kind=Kind.CUDAGRAPH_SKIP, also=also)
        plain = report("decode", 30, kind=Kind.CUDAGRAPH_SKIP)
        for order in permutations((hint, skipped, plain)):
            assert [event.kind for event in folded(*order)] == kinds
        assert len(folded(hint, (skipped, ProcessKey("a.log", None, 2)))) == 2


def test_a_hint_of_another_process_stands() -> None:
    events = folded(
        report("gate_attn", 10, at=("m.py", 3, "gate_attn"), kind=Kind.GRAPH_BREAK),
        (report("norm", 20, at=("n.py", 5, "norm"), **HINT), ProcessKey("a.log", None, 2)),
    )
    assert [event.op for event in events] == ["gate_attn", "norm"]


def test_the_events_stand_in_the_order_of_the_logs() -> None:
    other = ProcessKey("b.log")
    events = folded(report("x", 900), (report("y", 5), other), report("z", 30), (report("w", 1), other))
    assert [(event.log, event.op) for event in events] == [
        ("a.log", "z"),
        ("a.log", "x"),
        ("b.log", "w"),
        ("b.log", "y"),
    ]


def test_lines_are_of_the_first_log_and_ranks_of_all() -> None:
    ranks = [ProcessKey("a.log", 3, 30), ProcessKey("b.log", 0, 10), ProcessKey("a.log", 3, 30)]
    (event,) = folded(*((report(position=20 * n), rank) for n, rank in enumerate(ranks, 1)))
    assert (event.log, event.lines, event.count, event.ranks) == ("a.log", (2, 6), 3, (0, 3))
    assert set(event.processes) == set(ranks)


def test_an_unnamed_process_is_counted_as_the_one_it_is() -> None:
    unnamed, named = ProcessKey("a.log", 0, None), ProcessKey("a.log", 0, 7)
    (event,) = folded((report(), unnamed), (report(position=20), named), alias={unnamed: named})
    assert event.processes == (named,)


def test_the_most_telling_words_are_kept() -> None:
    (event,) = folded(
        report(position=10, names=("a",), reason="short", stack=("f",), files=("f.py",)),
        report(position=20, names=("b",), reason="a longer reason", stack=("f", "g"), files=("f.py", "g.py")),
        report(position=30, names=("a",), reason="mid", scope=Scope.REGION),
    )
    assert event.names == ("a", "b")
    assert event.reason == "a longer reason"
    assert (event.stack, event.files) == (("f", "g"), ("f.py", "g.py"))
    assert (event.scope, event.text) == (Scope.REGION, "the line at 10")


def test_names_are_bounded() -> None:
    (event,) = folded(*(report(position=n, names=(f"name{n}",)) for n in range(1000)))
    assert len(event.names) == 100
    assert event.count == 1000


def test_a_line_number_that_is_not_known_is_left_out() -> None:
    fold = Fold()
    fold.add(report(), MAIN)
    (event,) = fold.events(lambda log, positions: {}, {})
    assert (event.line, event.lines) == (None, ())


def test_reports_that_agree_have_no_variants() -> None:
    said = {"names": ("aten.topk",), "layer": "/a", "stack": ("f",), "at": ("m.py", 3, "f")}
    (event,) = folded(*(report(position=n, **said) for n in range(1, 9)))
    assert event.variants is None


def test_what_reports_say_differently_is_kept() -> None:
    (event,) = folded(
        report("Gather", 10, layer="/embed/G", names=("node_1",)),
        report("Gather", 20, layer="/decoder/G", names=("node_2",)),
        report("Gather", 30, layer="/embed/G", names=("node_1",)),
    )
    assert event.layer == "/embed/G"
    assert event.variants is not None
    assert event.variants.layers == ("/embed/G", "/decoder/G")
    assert event.variants.names == ("node_1", "node_2")
    assert event.variants.ops == (("Gather",),)
    assert not event.variants.overflowed


def test_overloads_are_told_apart() -> None:
    (event,) = folded(
        report("aten::sort", 10, names=("aten.sort.stable",)),
        report("aten::sort", 20, names=("aten.sort.values",)),
    )
    assert event.variants is not None
    assert event.variants.ops == (("aten::sort", "aten.sort.stable"), ("aten::sort", "aten.sort.values"))


def test_messages_that_name_nothing_are_told_apart() -> None:
    said = {"scope": Scope.PROGRAM, "id": "x/y"}
    (event,) = folded(report("*", 10, reason="a long one", **said), report("*", 20, reason="short", **said))
    assert event.variants is not None
    assert event.variants.ops == (("*", "x/y", "a long one"), ("*", "x/y", "short"))


def test_at_a_known_place_what_a_report_leaves_out_is_no_other_thing() -> None:
    (event,) = folded(
        report("f", 10, at=("m.py", 3)),
        report("f", 20, at=("m.py", 3, "f"), stack=("f", "g"), files=("m.py",), layer="/a"),
    )
    assert event.variants is not None
    assert event.variants.places == (Place("f", ("f", "g"), ("m.py",)),)
    assert event.variants.layers == ("/a",)
    (event,) = folded(report("f", 10), report("f", 20, layer="/a"))
    assert event.variants is not None
    assert event.variants.layers == (None, "/a")


def test_a_joined_report_keeps_its_overload_and_its_layer() -> None:
    (event,) = folded(
        report("aten::sort", 10, names=("aten.sort.stable",), at=("m.py", 3, "f")),
        report("aten::sort", 20, names=("aten.sort.values",), layer="/b"),
    )
    assert event.variants is not None
    assert event.variants.ops == (("aten::sort", "aten.sort.stable"), ("aten::sort", "aten.sort.values"))
    assert event.variants.layers == ("/b",)
    assert event.variants.places == (Place("f"),)


def test_variants_are_bounded_and_the_bound_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "MOST_VARIANTS", 200)
    (event,) = folded(*(report("Gather", n, layer=f"/{n}") for n in range(200)))
    assert event.variants is not None
    assert not event.variants.overflowed
    (event,) = folded(*(report("Gather", n, layer=f"/{n}") for n in range(300)))
    assert event.variants is not None
    assert (len(event.variants.layers), event.variants.overflowed) == (200, {"layers"})
    assert event.count == 300


def test_the_variants_of_a_run_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = Fold()
    fold._room.left = 10_000
    for n in range(1000):
        fold.add(report("Gather", n, layer=f"/{n}"), MAIN)
    (event,) = fold.events(lines, {})
    assert event.variants is not None
    assert len(event.variants.layers) < 200
    assert event.variants.overflowed == {"layers"}


def test_events_beyond_the_bound_are_one_that_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_EVENTS", 3)
    events = folded(
        *(report(f"op_{n}", 10 * n, at=("m.py", n, "f")) for n in range(1, 9)),
        report("op_2", 90, at=("m.py", 2, "f")),
    )
    assert [event.op for event in events] == ["op_1", "op_2", "op_3", "*"]
    rest = events[-1]
    assert (rest.count, rest.line, rest.scope, rest.count_is_lower_bound) == (5, 4, Scope.UNKNOWN, True)
    assert (rest.location, rest.stack, rest.names) == (None, (), ())
    assert rest.variants is not None
    assert "all" in rest.variants.overflowed
    assert rest.fingerprint != folded(report("*", 1))[0].fingerprint


def test_each_kind_has_its_own_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_EVENTS", 0)
    events = folded(report("a", 10), report("b", 20, kind=Kind.GRAPH_BREAK), report("c", 30))
    assert [(event.kind, event.count) for event in events] == [(Kind.OP_FALLBACK, 2), (Kind.GRAPH_BREAK, 1)]


def test_what_two_reports_of_one_place_tell_differently_is_chosen_whichever_came_first() -> None:
    named = report("sort", 1, at=("m.py", 7, "decode"), stack=("decode", "forward"), files=("m.py", "a.py"))
    other = report("sort", 2, at=("m.py", 7, "<module>"), stack=("decode", "run"), files=("m.py", "b.py"))
    for reports in ((named, other), (other, named)):
        (event,) = folded(*reports)
        assert event.location == Location("m.py", 7, "decode")
        assert event.stack == ("decode", "forward")
        assert event.files == ("m.py", "a.py")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_what_joins_an_event_keeps_how_far_it_reaches_and_all_that_it_says(order: tuple[int, ...]) -> None:
    """A frame that names no operator, said narrowly first and then as a whole region, with its stack."""
    at = ("/app/net.py", 3, None)
    said = [
        report("route", 10, scope=Scope.SITE, at=at),
        report("*", 20, scope=Scope.SITE, at=at),
        report("*", 30, scope=Scope.REGION, at=at, stack=("f", "g"), reason="the rest runs in eager"),
    ]
    (event,) = folded(*(said[one] for one in order))
    assert (event.op, event.scope, event.stack) == ("route", Scope.REGION, ("f", "g"))
    assert event.reason == "the rest runs in eager"
