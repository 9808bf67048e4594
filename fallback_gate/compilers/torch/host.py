"""Room 3: parts of an accelerator's compiled graph that the host computes: kernels on the CPU, and what it prints.

`compile` is the manual page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.inductor import of_operator
from fallback_gate.compilers.torch.log import NAME, LogRecord, base, messages, opened, parse
from fallback_gate.compilers.torch.trace import compile_around
from fallback_gate.compilers.torch.user_stack import told_by, user_stack
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEHIND, Pattern
from fallback_gate.scan.record import Line, Record

_CODE = "V1130 00:31:36.193000 5156 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
_SCHEDULED = "V1130 00:42:05.094000 12430 torch/_inductor/scheduler.py:3307] [0/0] scheduling ComputedBuffer("
_ON_CPU = "A part of the accelerator's graph is computed on the CPU: tensors are copied there and back."


def on_cpu(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A CPU kernel that the wrapper of an accelerator's graph calls, beside where it turns to that device.

    The list of partitions tells more, where it is printed: which operator, and where in the user's code.
    """
    log = parse(record.text)
    if (log and log.artifact != "output_code") or not record.is_near(b" cpp_fused_"):
        return
    found: dict[str, Line] = {}
    for line in chain(record.preceding(NEAR_GUARD), record.following(NEAR_GUARD)):
        inner = parse(line.text) if log else None
        if log and (not inner or _whose(inner) != _whose(log)):
            continue
        if kernel := _CPU_KERNEL.match(inner.message if inner else line.text.removeprefix("\t")):
            found.setdefault(kernel["name"], line)
    for name, line in found.items():
        yield base(
            rule,
            record,
            log,
            "*",
            position=record.position_at(line.at),
            text=line.text,
            compile_id=None if log else compile_around(record),
            hint=True,
            site=f"{log.frame if log else ''} {name}".strip(),
            reason=f"the wrapper of an accelerator's graph calls {name}, which runs on the CPU",
        )


def scheduled_on_cpu(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A kernel on the CPU in the scheduler's dump of a graph that has one on an accelerator, too."""
    log = opened(record.text, match, None)
    if not log:
        return
    if not any(_whose(other) == _whose(log) for other in _on_accelerators(record)):
        return
    said = list(messages(record, log, NEAR_GUARD, until="scheduling "))
    ranges = next((found for line in said if (found := _RANGES.match(line))), None)
    if ranges and "0" in ranges["sizes"].split(", "):
        return  # room is made, and nothing is computed
    facts = told_by(user_stack(said))
    if facts["location"]:  # one event of all the kernels of a function
        facts["location"] = facts["location"]._replace(line=None)
    yield base(
        rule,
        record,
        log,
        facts.pop("op"),
        hint=True,
        site=f"{log.frame} {match['name']}",
        reason=f"{match['name']} of an accelerator's graph is computed on the CPU",
        **facts,
    )


def _on_accelerators(record: Record) -> Iterator[LogRecord]:
    """The lines nearby that tell of a buffer elsewhere than on the CPU."""
    return filter(None, (parse(line.text) for line in record.around(_ON_ACCELERATOR, REACH)))


REACH = 128 * 1024  # bytes
_RANGES = Pattern(r"\s*ranges=\[(?P<sizes>[^\]]*)\]")
_ON_ACCELERATOR = re.compile(rb"layout=\w+\('(?!cpu|meta)\w+(?::\d+)?', torch\.")


def _whose(log: LogRecord) -> tuple[int | None, str, str | None]:
    return log.pid, log.compile_id, log.artifact


NEAR_GUARD = 40  # lines
_CPU_KERNEL = Pattern(r"\s+(?P<name>cpp_fused_\w+)\(")


def printed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator `print` in the generated wrapper, which writes it as Python's own: the host waits for its values."""
    log = parse(record.text)
    if log is None or (log.artifact == "output_code" and log.message.lstrip().startswith("print(")):
        yield of_operator(
            rule,
            record,
            log,
            "higher_order.print",
            compile_id=None if log else compile_around(record),
            site=f"{log.frame if log else record.position} {match[0].strip()[:200]}",
            reason="the generated wrapper prints: the host waits for the values",
        )


ON_CPU = Rule(
    id="torch/cpu-kernel",
    compiler=NAME,
    anchor=("_DeviceGuard(",),
    pattern=r"(?:^\t|\[__output_code\] )\s*with torch\.(?!cpu\b)\w+\._DeviceGuard\(",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=_ON_CPU,
    help="Look for .cpu(), a tensor that is made without device=, or a constant on the CPU in the compiled code; "
    "TORCH_LOGS=cudagraphs names the operator and the user's line.",
    seen_in="2.11 (run), artifact output_code and structured traces",
    matches=(
        _CODE
        + "        cpp_fused__to_copy_relu_1(buf2)\n"
        + _CODE
        + "        with torch.cuda._DeviceGuard(0):",
        "\t        with torch.cuda._DeviceGuard(0):\n\t            pass\n\t        cpp_fused_add_0(buf2)",
    ),
    ignores=(
        _CODE + "        with torch.cuda._DeviceGuard(0):",
        "        cpp_fused_add_0(buf2)\n        with torch.cuda._DeviceGuard(0):",
    ),
    read=on_cpu,
)

SCHEDULED_ON_CPU = Rule(
    id="torch/cpu-kernel",
    compiler=NAME,
    anchor=("Layout('cpu'",),
    pattern=r"scheduling ComputedBuffer\(name='(?P<name>\w+)', layout=\w+\('cpu'",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=_ON_CPU,
    help="Look for .cpu(), a tensor that is made without device=, or a counter of a loop on the CPU in the compiled code.",
    seen_in="2.11 (run), DEBUG of inductor",
    matches=(
        _SCHEDULED
        + "name='buf0', layout=FixedLayout('cuda:0', torch.float32, size=[16, 32], stride=[32, 1]), data=Pointwise(\n"
        + _SCHEDULED
        + "name='buf1', layout=FixedLayout('cpu', torch.int64, size=[], stride=[]), data=Pointwise(",
    ),
    ignores=(
        _SCHEDULED
        + "name='buf1', layout=FixedLayout('cpu', torch.int64, size=[], stride=[]), data=Pointwise(",
    ),
    read=scheduled_on_cpu,
)

_QUOTE = r"\\{0,2}['\x22]|&(?:#39|#x27|apos|quot|#34);"
PRINTED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("print(",),
    # Its indentation and quotes may be those that another program left of them.
    pattern=r"(?:^\t\s{4,64}|\[__output_code\]\s{1,64})print\(" + rf"(?P<q>{_QUOTE}).*(?P=q)"
    r"(?:\.format\([\w=, ]*\))?\)" + BEHIND,
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The compiled graph prints on the host, which waits for the values at each call.",
    help="Take torch._higher_order_ops.print out of what is released.",
    seen_in="2.11 (run), 2.14 (source), artifact output_code",
    matches=(
        _CODE + "            print('norm {}'.format(buf0))",
        "\t            print('norm {}'.format(buf0))",
        _CODE + "print('norm {}'.format(buf0))",
        _CODE + "            print(&#39;norm {}&#39;.format(buf0))",
        _CODE + "            print(\\'norm {}\\'.format(buf0))",
    ),
    ignores=(
        _CODE + "    return print_performance(fn, times=times, repeat=repeat)",
        "            print('norm {}'.format(buf0))",
    ),
    read=printed,
)

RULES = (ON_CPU, SCHEDULED_ON_CPU, PRINTED)
