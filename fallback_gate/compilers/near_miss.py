"""Room 3: lines that smell of a fallback and that no rule knew.

A compiler's wording drifts: on the day of a new version its message is no longer the one that a rule waits
for. So a line with the anchor of a rule whose pattern does not match it is one, and a few phrases are looked
for besides. A line that gave neither report nor sighting is kept, once for each wording, as a note; `--strict`
makes it unproven. Lines that belong to a record of PyTorch's artifacts and dumps are none: the words stand
there in explanations, guards and sources; but a record that opens with an anchor is one that no rule knew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fallback_gate.compilers.rule import Rule
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record
from fallback_gate.scan.view import LONGEST_LINE

PHRASES = (  # without a first letter that may be a capital
    "all back to",
    "alls back to",
    "ell back to",
    "ellback to",
    "alling back",
    "allback to",
    "FALLBACK to",
    "ing fallback",
    "as fallback",
    "yTorch fallback",
    "upported on ",
    "upported by ",
    "upported for ",
    "implemented for the",
    "implemented on the",
    "PU instead",
    "pu instead",
    "back to CPU",
    "eager mode",
    "aive kernel",
    "aive implementation",
    "eference implementation",
    "noptimized",
    "low path",
    "ub-optimal",
    "uboptimal",
    "o tuned ",
    "sing default ",
    "ernel not used",
    "isabling torch.compile",
    "isabling CUDA",
    "isabling cuda",
    "raphs are disabled",
    "raph is disabled",
    "mode to NONE",
)
MOST = 50  # wordings that are kept of one log
_DEVICE = r"(?:[cghmntx]pu|dla|mps|mlu|cuda|rocm|hip|core ?ml|accelerator|delegate|backend|device)"
_SMELL = Pattern(
    r"\bf(?:all(?:s|ing)?|ell)[ -]?back (?:to|on)\b|\bfalling back\b|\bfallback to\b"
    r"|\b(?:using|as|via) (?:an? |the )?(?:\w{1,20} )?fallback(?:$|[.,;:({]| [({]| (?:kernel|tactic|function|op|implement|path|backend|schedul))"
    rf"|\b(?:not|un)(?: currently| yet)? ?(?:supported|implemented) (?:on the\b|(?:on|by|for) (?:the )?(?:\S{{1,40}} )?{_DEVICE}\b)"
    r"|\bon (?:the )?cpu instead\b|\bback to (?:the )?cpu\b"
    r"|\b(?:(?:runs?|running|execut\w+) in|using|to) (?:the )?eager mode\b"
    r"|\busing (?:an? |the )?(?:naive|reference|slow|unoptimized) (?:kernel|implementation|path)"
    r"|\b(?:performance|perf|speed|latency|throughput) (?:may|might|could|will|can) be (?:\w{1,20} )?sub-?optimal\b|\bsub-?optimal performance\b"
    r"|\bno tuned (?:\w{1,20} ){0,3}(?:config\w*|record|kernel|tile|tactic)\b"
    r"|\busing default (?:[\w-]{1,20} ){0,4}(?:kernel|moe|gemm|ssu|tactic|tile|schedule|block)\b|\bkernel not used\b"
    r"|\bdisabling (?:torch\.compile|cuda ?graphs?)\b|\bgraphs? (?:is|are) disabled\b|\bmode to none\b",
    re.IGNORECASE,
)
_ASIDES = ("#", "//", "raise ", "File ", "+ ", "$ ", "> ")  # sources, tracebacks, commands
_VARYING = Pattern(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"|`[^`]*`", re.IGNORECASE)


@dataclass(slots=True)
class NearMiss:
    """One wording: its first line, where it stands, and how many lines have it."""

    text: str
    position: int
    rule: str | None = None  # that waits for such a line and did not match
    count: int = 1


def wording(record: Record, waiting: Rule | None = None) -> str | None:
    """What makes two lines one wording: the line without numbers and quoted names. None: no near miss.

    `waiting`: the rule whose anchor the line has, without matching.
    """
    if waiting:
        said = plain(record.text)
        if any(plain(_as_long(record, line)) == plain(line) for line in waiting.ignores):
            return None
        if waiting.limit is not None:
            return said
    from fallback_gate.compilers.torch.log import parse  # few logs have such a line

    log = parse(record.text)
    if waiting and opens(record, waiting):
        return plain(log.message if log else record.text)
    if log and (log.artifact or log.level == "V" or log.message.startswith((" ", "{"))):
        return None
    text = log.message if log else record.text
    if not (waiting or _SMELL.search(text)) or text.startswith("\t") or text.lstrip().startswith(_ASIDES):
        return None
    if "\\n" in text and record.end - record.start > LONGEST_LINE:
        return None  # a part of a long line that quotes others, as those of structured traces do
    return plain(text)


def opens(record: Record, rule: Rule) -> bool:
    """Whether the line opens a record of PyTorch's with an anchor of the rule, which waits for such records."""
    if not any(f"] {anchor}" in record.text for anchor in rule.anchor):
        return False
    from fallback_gate.compilers.torch.log import parse

    log = parse(record.text)
    return log is not None and log.message.startswith(rule.anchor) and any(map(parse, rule.matches))


def _as_long(record: Record, line: str) -> str:
    """As many lines of the record as a user gives."""
    below = record.following(line.count("\n"))
    return "\n".join((record.text, *(line.text for line in below)))


def plain(text: str) -> str:
    """The text without what varies from line to line."""
    return _VARYING.sub("_", text)[:200].strip()
