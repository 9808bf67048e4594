"""Room 3: the manual pages, against those that the documentation holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate.compilers import READERS, manual
from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.model import Kind, Scope

PAGES = Path(__file__).parents[2] / "docs/readers"
RULE = Rule(
    "acme/slow", "acme", ("slow: ",), "slow: (?P<op>.*)", Kind.SLOWER_KERNEL, Scope.OPERATOR,
    meaning="It is slow.", help="Be quick.", seen_in="1.0", matches=("slow: a\nby b", "slow: c"),
)  # fmt: skip
AGAIN = Rule(
    "acme/slow", "acme", ("slow-ish: ",), "x", Kind.SLOWER_KERNEL, Scope.OPERATOR,
    meaning="Not shown.", help="Nor this.", seen_in="2.0", matches=("slow: c", "slow-ish: d"), ignores=("fast", "fast\n!"),
    at_least=True,
)  # fmt: skip
MARKER = Marker("acme/end", "acme", ("end",), "end", "It ended.", "1.0", ("end",))


@pytest.mark.parametrize("reader", READERS.values(), ids=lambda reader: reader.name)
def test_a_page_is_the_one_of_the_documentation(reader: Reader) -> None:
    assert manual.page(reader) in (PAGES / f"{reader.name}.md").read_text(encoding="utf-8")


def test_the_table_is_the_one_of_the_documentation() -> None:
    assert (PAGES / "README.md").read_text(encoding="utf-8").endswith(manual.table(READERS.values()))


def test_an_entry_tells_all_wordings_of_a_message_once() -> None:
    reader = Reader("acme", (RULE, AGAIN), (MARKER,), frozenset(), lambda evidence: {})
    assert manual.entries([reader]) == {"acme/slow": [RULE, AGAIN], "acme/end": [MARKER]}
    assert manual.entry([RULE, AGAIN], reader) == (
        "### acme/slow\n\nIt is slow.\n\n"
        "- **Kind:** `slower_kernel`, scope `operator`\n"
        f"- **Why it is slow:** {manual.KIND_COST[Kind.SLOWER_KERNEL]}\n"
        "- **What to do:** Be quick.\n"
        "- **Wording seen in:** 1.0; 2.0\n\n"
        "```text\nslow: a\nby b\nslow: c\nslow-ish: d\n```\n\n"
        "No such message:\n\n```text\nfast\nfast\n!\n```\n"
    )
    assert ", printed once for many\n" in manual.entry([AGAIN], reader)
    assert manual.entry([MARKER], reader) == (
        "### acme/end\n\nIt ended.\n\n- **Evidence** that the reader of acme weighs; no fallback.\n"
        "- **Wording seen in:** 1.0\n\n```text\nend\n```\n"
    )


def test_a_page_of_a_reader_that_declares_nothing() -> None:
    reader = Reader(
        "b", (), (), frozenset({Kind.OP_FALLBACK, Kind.GRAPH_BREAK}), lambda evidence: {},
        manual="b: Acme's own.\n\nWhat it is.\n\n", silent="yes | no", seen_in="1.0",
    )  # fmt: skip
    assert manual.page(reader) == (
        "# b\n\nAcme's own.\n\nWhat it is.\n\nProof is required of: `graph_break`, `op_fallback`.\n"
    )
    upper = Reader(
        "C", (), (), frozenset(), lambda evidence: {}, setting="LOUD=1", silent="no", seen_in="2.0"
    )
    assert manual.table([upper, reader]).splitlines()[2:] == [
        r"| [b](b.md) | yes \| no | a marker of your own | 1.0 |",
        "| [C](C.md) | no | LOUD=1 | 2.0 |",
    ]
