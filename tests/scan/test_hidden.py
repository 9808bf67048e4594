"""Room 2: a message with a colour code or a mask within its words leaves the log unproven, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome
from fallback_gate.scan import hidden

CLEAN = (Path(__file__).parents[1] / "data" / "clean.2.9.1.log").read_bytes()
LONG = b"a plain line of a log\n" * 60_000  # two reads
ESCAPES = {
    "rsyslog": "#033",
    "cat -v": "^[",
    "C": "\\033",
    "Python": "\\x1b",
    "JSON": "\\u001b",
    "less": "<0x1b>",
    "viewer": "␛",
    "lost": "\ufffd",
    "replaced": "?",
    "blank": " ",
    "dropped": "",
}
MASKED = [
    "*** to eager: op=gate_attn",
    "fallback to ***: op=gate_attn",
    "fall***eager: op=gate_attn",
    "fallback [REDACTED] eager: op=gate_attn",
    "fallback [MASKED] eager: op=gate_attn",
    "xxxxx to eager: op=gate_attn",
    "##[error]Missing [REDACTED] converter for aten::topk",
]
NOT_MASKED = [
    "AUTHORIZATION: basic ***",
    "  env: {TOKEN: ***, PASSWORD: ****, HOME: /root}",
    "git clone https://***@github.com/o/r",
    "Logged in as [REDACTED]",
    "*** starting ***",
    "**********************",
    "/*** a comment ***/",
    "api_key=xxxxxxxx",
]


def outcome(tmp_path: Path, text: bytes) -> Outcome | None:
    log = tmp_path / "a.log"
    log.write_bytes(text)
    return check([log], cwd=tmp_path, environ={}).outcome


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
@pytest.mark.parametrize("before", [b"", LONG], ids=["first bytes", "another read"])
def test_a_colour_code_within_the_words(tmp_path: Path, escape: str, before: bytes) -> None:
    for words in (
        "fall{0}[01;31m{0}[Kback{0}[m{0}[K to eager: op=f",
        "{0}[1;31mfallback{0}[0m to eager: op=f",
    ):
        line = words.format(escape).encode()
        for text in (CLEAN + before + line + b"\ndone\n", line + b"\n" + before + CLEAN):
            seen = (
                outcome(tmp_path, text) is Outcome.BLOCKED and escape == "\\u001b"
            )  # as Docker's JSON has it
            assert seen or outcome(tmp_path, text) is Outcome.UNPROVEN


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_a_colour_code_that_hides_nothing(tmp_path: Path, escape: str) -> None:
    text = f'print("{escape}[31mdone{escape}[0m")\n{escape}[32mINFO{escape}[0m served 12 requests\n'
    assert outcome(tmp_path, text.encode() + CLEAN) is Outcome.PASS


@pytest.mark.parametrize(
    "line",
    [
        "fall<b>back</b> to eager: op=gate_attn",
        '<span class="hl">fallback</span> to eager: op=gate_attn',
        "<span>fallback&nbsp;to eager: op=gate_attn</span>",
        "scheduling ComputedBuffer(name=&#39;buf1&#39;, layout=FixedLayout(&#39;cpu&#39;, torch.int64",
    ],
)
def test_markup_within_the_words(tmp_path: Path, line: str) -> None:
    assert outcome(tmp_path, CLEAN + line.encode() + b"\ndone\n") is Outcome.UNPROVEN
    assert outcome(tmp_path, b"<b>bold</b> &lt;html&gt; it\xe2\x80\x99s\n" + CLEAN) is Outcome.PASS


def test_a_message_that_is_seen_besides(tmp_path: Path) -> None:
    text = b"[31mfallback[0m to eager: op=first\nfallback to eager: op=second\n"
    assert outcome(tmp_path, CLEAN + text) is Outcome.BLOCKED


@pytest.mark.parametrize("line", MASKED)
def test_a_mask_where_a_message_may_stand(tmp_path: Path, line: str) -> None:
    assert outcome(tmp_path, CLEAN + line.encode() + b"\ndone\n") is Outcome.UNPROVEN


@pytest.mark.parametrize("line", NOT_MASKED)
def test_a_mask_where_none_may_stand(tmp_path: Path, line: str) -> None:
    assert outcome(tmp_path, line.encode() + b"\n" + CLEAN) is Outcome.PASS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"a *** back", []),
        (b"falling *** to", [b"falling back to"]),
        (b"falling b*** now", [b"falling back to"]),
        (b"so ***ng back to", [b"falling back to"]),
        (b"fallin***back to", [b"falling back to"]),
        (b"falling back***to", []),  # too few letters for a secret
        (b"falling\n*** back to", [b"falling back to"]),
    ],
)
def test_literals_behind_a_mask(text: bytes, found: list[bytes]) -> None:
    assert list(dict.fromkeys(hidden.behind_masks(text, ("falling back to", "ab")))) == found


PAGE = Path(__file__).parents[2] / "sample_logs"


@pytest.mark.parametrize("name", ["tvm/byoc-formatted-module.0.27.log", "openvino/moe-execgraph.2026.4.log"])
@pytest.mark.parametrize("harm", ["***", "[REDACTED]", "[31m{}[0m", "#033[01;31m{}#033[0m"])
def test_a_record_of_many_lines(tmp_path: Path, name: str, harm: str) -> None:
    """What stands within one of its further lines hides a name that no anchor stands beside."""
    text = (PAGE / name).read_text(encoding="utf-8")
    word = "topk" if "topk" in text else "ref_any"
    assert outcome(tmp_path, text.encode()) is Outcome.BLOCKED
    assert outcome(tmp_path, text.replace(word, harm.format(word)).encode()) is not Outcome.PASS


def test_a_masked_line_of_a_record_of_pytorchs(tmp_path: Path) -> None:
    opening = "V1130 01:38:10.289000 4456 torch/_inductor/graph.py:1749] [0/0] [__output_code]"
    assert outcome(tmp_path, f"{opening}     ***(buf0)\n".encode() + CLEAN) is Outcome.UNPROVEN
    assert outcome(tmp_path, f"{opening}     token = ***\n".encode() + CLEAN) is Outcome.PASS
    banner = "*** While handling this graph break, another graph break occurred: ***"
    assert outcome(tmp_path, f"{opening} {banner}\n".encode() + CLEAN) is Outcome.PASS
