"""Room 3: callbacks in a printed jaxpr; the text is one that JAX 0.12 printed, made shorter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Read = Callable[..., Any]

PRINTED = """\
{ lambda ; a:f32[4,8]. let
    b:f32[4,8] = jit[
      name=remat
      jaxpr={ lambda ; a:f32[4,8]. let
          c:f32[] = jit[
            name=norm
            jaxpr={ lambda ; a:f32[4,8]. let
                d:f32[4,8] = mul a a
                c:f32[] = sqrt e
              in (c,) }
          ] a
          debug_callback[
            callback=<function debug_callback.<locals>._debug_callback.<locals>._flat_callback at 0x7f16>
            effect=Debug
          ] c
          f:f32[4,8] = checkpoint[
            differentiated=True
            jaxpr={ lambda ; g:f32[4,8]. let
                h:i32[4,2] = pure_callback[
                  callback=_FlatCallback(callback_func=<function Router.pick.<locals>.host at 0x7f16>, in_tree=x)
                  result_avals=(ShapedArray(int32[4,2]),)
                ] g
                debug_print[
                  fmt=total {t}
                ] h
              in () }
          ] c
        in (b,) }
    ] a
  in (b,) }"""


def test_each_callback_is_of_the_function_whose_block_is_open(read: Read) -> None:
    reports = read(*PRINTED.split("\n")).reports
    assert [(r.position, r.op, r.names[1:], r.stack) for r in reports] == [
        (12, "debug_callback", ("jax.debug.callback",), ("remat",)),
        (19, "pure_callback", ("jax.pure_callback", "Router.pick.host"), ("remat",)),
        (23, "debug_print", ("jax.debug.print",), ("remat",)),
    ]
    assert {(r.kind.value, r.scope.value, r.location) for r in reports} == {
        ("device_fallback", "operator", None)
    }


def test_one_inside_the_inner_function_is_of_that(read: Read) -> None:
    inner = PRINTED.split("\n")
    inner[8:8] = [
        "                x:f32[] = io_callback[",
        "                  callback=_F(callback_func=<function f at 0x7>)",
    ]
    first = read(*inner).reports[0]
    assert (first.op, first.names[2], first.stack) == ("io_callback", "f", ("norm",))


def test_without_a_function_around_it(read: Read) -> None:
    (report,) = read(
        "    d:i32[4,2] = pure_callback[", "      callback=<bound method Table.get of 1>", "    ] a"
    ).reports
    assert (report.names[2], report.stack) == ("Table.get", ())
    assert (
        read("    d:i32[4,2] = pure_callback[", "    ] a", "      callback=<function f at 0x7>").reports == []
    )
