"""Room 6: two runs side by side: what is new is worse, and that nothing is takes two runs that show it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.model import Kind
from fallback_gate.model.environment import Environment, Version
from fallback_gate.model.history import Fallback, Side, Step
from fallback_gate.verdict.compare import _DEVICE, compare

TORCH = (("torch.compile", None),)


def fallback(op: str = "aten::sort", **said: Any) -> Fallback:
    values: dict[str, Any] = {
        "fingerprint": "", "compiler": "torch.compile", "kind": Kind.OP_FALLBACK, "op": op, "file": "",
        "function": "", "sites": 1, "reports": 1, "at_least": False, "device": None, "event_class": None,
        "spot": "c.log:1",
    }  # fmt: skip
    one = Fallback(**{**values, **said})
    told = f"{one.compiler}/{one.kind}/{one.op}/{one.file}/{one.function}"
    return one._replace(fingerprint=one.fingerprint or told)


def side(*fallbacks: Fallback, **said: Any) -> Side:
    return Side("run", fallbacks, **{"compilers": TORCH, **said})


def steps(old: Side, new: Side) -> list[tuple[str, str]]:
    return [(change.step.value, change.shown.op) for change in compare(old, new).changes]


@pytest.mark.parametrize(
    ("old", "new", "expected", "exit_code"),
    [
        ([], [], [], 0),
        ([fallback()], [fallback()], [("same", "aten::sort")], 0),
        ([], [fallback()], [("new", "aten::sort")], 1),
        ([fallback()], [], [("gone", "aten::sort")], 0),
        ([fallback(sites=1)], [fallback(sites=2)], [("more", "aten::sort")], 1),
        ([fallback(sites=2)], [fallback(sites=1)], [("fewer", "aten::sort")], 0),
        ([fallback(reports=1)], [fallback(reports=9)], [("same", "aten::sort")], 0),
        ([fallback()], [fallback("aten::topk")], [("new", "aten::topk"), ("gone", "aten::sort")], 1),
        ([fallback()], [fallback(kind=Kind.DEVICE_FALLBACK)], [("moved", "aten::sort")], 1),
        ([fallback()], [fallback("aten::sort.stable", compiler="tensorrt")], [("moved", "aten::sort.stable")], 1),
        ([fallback(function="f")], [fallback(function="g")], [("moved", "aten::sort")], 1),
        ([fallback(device="CPU")], [fallback(device="AICPU")], [("moved", "aten::sort")], 1),
        ([fallback(device="CPU")], [fallback(device=None)], [("same", "aten::sort")], 0),
        ([fallback("*")], [fallback("*", kind=Kind.COMPILE_ERROR)], [("new", "*"), ("gone", "*")], 1),
    ],
)  # fmt: skip
def test_what_became_of_each(
    old: list[Fallback], new: list[Fallback], expected: list[tuple[str, str]], exit_code: int
) -> None:
    compared = compare(side(*old), side(*new))
    assert [(change.step.value, change.shown.op) for change in compared.changes] == expected
    assert compared.exit_code == exit_code


def test_what_moved_is_said() -> None:
    old = fallback(device="CPU", function="f", file="m.py")
    (change,) = compare(side(old), side(old._replace(device="AICPU"))).changes
    assert change.what == "CPU -> AICPU"
    new = fallback(kind=Kind.DEVICE_FALLBACK, compiler="tensorrt")
    (change,) = compare(side(old), side(new)).changes
    assert "op_fallback -> device_fallback" in change.what
    assert "torch.compile -> tensorrt" in change.what


def test_one_that_moved_is_matched_with_the_nearest() -> None:
    near, far = fallback(function="f"), fallback(compiler="tvm", kind=Kind.UNTUNED_CONFIG)
    compared = compare(side(far, near), side(fallback(function="g")))
    assert compared.of(Step.MOVED)[0].old == near
    assert compared.of(Step.GONE)[0].old == far


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (side(problem="cut"), side(), ["old run is not proven", "cut"]),
        (side(), side(problem="cut"), ["new run is not proven", "cut"]),
        (side(), side(compilers=()), ["does not show torch.compile"]),
        (side(ranks=(0, 1, 2)), side(ranks=(0,)), ["2 ranks", "1, 2"]),
        (side(processes=3), side(processes=1), ["1 of 3 processes"]),
        (side(fallback("*")), side(fallback("*")), ["names no operator"]),
        (side(fallback(at_least=True)), side(fallback(at_least=True)), ["said once for many"]),
    ],
)
def test_nothing_worse_takes_two_runs_that_show_it(old: Side, new: Side, words: list[str]) -> None:
    compared = compare(old, new)
    assert compared.exit_code == 3
    assert all(word in " ".join(compared.open) for word in words)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ({"c": "1", "a": "3"}, {"c": "2", "a": "4"}, [("a", "3", "4"), ("c", "1", "2")]),
        ({"c": "1"}, {"c": "1"}, []),
        ({"c": None}, {"c": "2"}, []),  # no upgrade: the old log does not tell
        ({"c": "1"}, {"c": None}, []),
        ({"c": "1"}, {"d": "2"}, []),
    ],
)
def test_versions_that_logs_show(
    old: dict[str, str | None], new: dict[str, str | None], changed: list[tuple[str, str, str]]
) -> None:
    found = compare(side(compilers=tuple(old.items())), side(compilers=tuple(new.items()))).versions
    assert [tuple(one) for one in found] == changed


def test_what_is_recorded_of_a_run_holds_over_what_its_logs_show() -> None:
    old, new = (
        side(compilers=(("torch", shown), ("c", shown)), environment=Environment(compilers=(Version("torch", said),)))
        for shown, said in (("2", "2.11.0"), ("3", "2.12.0"))
    )  # fmt: skip
    found = compare(old, new).versions
    assert [tuple(one) for one in found] == [("torch", "2.11.0", "2.12.0"), ("c", "2", "3")]


def test_what_is_new_is_worse_whatever_the_proof() -> None:
    assert compare(side(problem="cut"), side(fallback(), problem="cut")).exit_code == 1


FALLBACKS = st.lists(
    st.builds(
        fallback, st.sampled_from(["a::b", "c", "*"]), kind=st.sampled_from(Kind), sites=st.integers(1, 3)
    ),
    max_size=6,
    unique_by=lambda one: one.fingerprint,
)


@given(FALLBACKS, FALLBACKS)
def test_each_fallback_is_told_once(old: list[Fallback], new: list[Fallback]) -> None:
    compared = compare(side(*old), side(*new))
    assert sorted(c.old.fingerprint for c in compared.changes if c.old) == sorted(f.fingerprint for f in old)
    assert sorted(c.new.fingerprint for c in compared.changes if c.new) == sorted(f.fingerprint for f in new)


@given(FALLBACKS, FALLBACKS)
def test_exit_0_means_that_all_of_the_new_run_was_in_the_old_one(
    old: list[Fallback], new: list[Fallback]
) -> None:
    if compare(side(*old), side(*new)).exit_code == 0:
        sites = {one.fingerprint: one.sites for one in old}
        assert all(one.sites <= sites.get(one.fingerprint, 0) for one in new)


@pytest.mark.parametrize(
    ("reason", "device"),
    [
        (
            "placed on CPUExecutionProvider (4 nodes), beside OpenVINOExecutionProvider (5 nodes)",
            "CPUExecutionProvider",
        ),
        ("is not currently supported on the NPU backend and will fall back to run on the CPU", "CPU"),
        ("placed on DNN_VM_AICPU (aicpu_tf_kernel) after AIcoreEngine refused it", "DNN_VM_AICPU"),
        ("12 calls on the CPU", "CPU"),
        ("is not supported on DLA", None),
        ("cpu ops, DeviceCopy ops", None),
    ],
)
def test_the_device_is_taken_from_the_log_s_words(reason: str, device: str | None) -> None:
    found = _DEVICE.search(reason)
    assert (found[1] if found else None) == device
