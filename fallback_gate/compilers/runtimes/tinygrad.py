"""tinygrad: tinygrad's own compilers: kernels that they refuse.

    tinygrad.device.CompileError: compile failed: ptxas error : Entry function 'r_64_64_2_4' uses too much shared data
    error lowering Ops.SINK
    tensor operations:
    (cat, conv2d)

**What falls back.** Nothing by itself: a kernel is compiled, or the program ends. The whole program lands on the CPU where
no GPU can be opened; `DEBUG=1` prints which device was.

**At which setting it speaks.** The exception: always. Which operations of the model the kernel came from: with `DEBUG=2`.

**When it is silent.** While BEAM searches: it drops the candidates that do not compile, without a word. On the device.

**What proves the end.** Nothing.

Wording from tinygrad's source of 2024 to 2026, and from public threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tinygrad"
_MOST_FRAMES = 40
_KERNEL = Pattern(r"Entry function '(?P<kernel>\w{1,200})'")
_METADATA = Pattern(r"^\((?P<list>[a-z_][\w, ]{0,500})\)\s*$")


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The kernel, where the compiler below names it; an older error only under tinygrad's own frames."""
    if match["old"] and not any("tinygrad/" in line.text for line in record.preceding(_MOST_FRAMES)):
        return
    report = by_groups(rule, record, match)
    if kernel := _KERNEL.search(match["reason"]):
        report = report._replace(op=kernel["kernel"], names=(kernel["kernel"],), scope=Scope.OPERATOR)
    yield report._replace(hint=True)


REFUSED = Rule(
    id="tinygrad/not-compiled",
    compiler=NAME,
    anchor=("tinygrad.device.CompileError: ", "RuntimeError: compile failed: "),
    pattern=r"^(?:tinygrad\.device\.CompileError|(?P<old>RuntimeError)(?=: compile failed: )): (?P<reason>\S.{0,500})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The compiler of the device refused the kernel: the program ended, or its author caught the error.",
    help="DEBUG=4 prints the kernel's source; NOOPT=1, or another BEAM, makes another kernel of the same operations.",
    seen_in="0.8 to 0.11 (source and public threads), an exception",
    matches=(
        "tinygrad.device.CompileError: compile failed: ptxas error   : Entry function 'r_64_64_2_4_32_48_4_2_4_2' uses too much shared data (0x10000 bytes, 0xc000 max)",
        "tinygrad.device.CompileError: NvJitLink Error 4, NVJITLINK_ERROR_PTX_COMPILE",
        'Traceback (most recent call last):\n  File "/opt/tinygrad/tinygrad/tensor.py", line 194, in numpy\nRuntimeError: compile failed: nvrtc: error: invalid value for --gpu-architecture (-arch)',
    ),
    ignores=(
        "from tinygrad.device import CompileError",
        "RuntimeError: compile failed: exit status 1",
    ),
    read=refused,
)


def operations(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The model's operations that the kernel was fused of, where the second line follows."""
    below = [line.text for line in record.following(2)]
    if not below or not below[0].startswith("tensor operations:"):
        return
    listed = _METADATA.match(below[1]) if len(below) > 1 else None
    names = tuple(name.strip() for name in listed["list"].split(",") if name.strip()) if listed else ()
    report = by_groups(rule, record, match)
    yield report._replace(op=names[0], names=names) if names else report._replace(scope=Scope.PROGRAM)


LOWERING = Rule(
    id="tinygrad/not-lowered",
    compiler=NAME,
    anchor=("error lowering ",),
    pattern=r"^(?P<reason>error lowering [A-Z]\w{1,30}\.\w{1,40})\s*$",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="No kernel could be made of these operations: the program ended, or its author caught the error.",
    help=REFUSED.help,
    seen_in="0.9 to 0.11 (source and public threads), DEBUG=2",
    matches=("error lowering Ops.SINK\ntensor operations:\n(cat, conv2d)",),
    ignores=("error lowering Ops.SINK",),
    read=operations,
)

REQUIRED = frozenset({Kind.COMPILE_ERROR})

READER = Reader(
    name=NAME,
    rules=(LOWERING, REFUSED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("no line shows that each kernel was compiled", "DEBUG=2", *REQUIRED),
    setting="DEBUG=2",
    manual=__doc__,
    silent="no: a kernel that is refused is an error, but BEAM drops candidates without a word",
    seen_in="tinygrad 0.9 to 0.11 (source)",
)
