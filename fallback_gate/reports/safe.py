"""Room 7: what log text must lose before anyone shows it. Log text is hostile; one function an output.

A log can hold terminal escapes, text that runs right to left, commands for the CI runner that prints
it, bytes that no XML parser takes, and secrets. Each function here makes one of these harmless and
leaves what was there visible: an escape character becomes the four characters `\\x1b`. Nothing is
dropped in silence, except a secret, which becomes `***`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fallback_gate.reports.secrets import redact as redact

# C0, DEL and C1; soft hyphen, Arabic letter mark; zero width and direction marks; line and paragraph
# separators; embeddings, overrides, isolates; byte order mark; interlinear marks; non-characters;
# lone surrogates; tag characters.
_INVISIBLE: Final = (
    "\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_TERMINAL: Final = re.compile(f"[\x00-\x1f{_INVISIBLE}]")
_XML: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# GitHub's `##[group]`, Azure's `##vso[...]`, TeamCity's `##teamcity[...]`: obeyed anywhere in a line.
# Not once it is broken: some text passes here twice.
_RUNNER_ANYWHERE: Final = re.compile(r"##(\w*)\[(?!\\)")
_ATTACHMENT: Final = "[[ATTACHMENT|"  # GitLab reads a path to upload from a test case's output


# Whatever GitHub's or GitLab's Markdown gives a meaning; the last two only at the start of a text.
_MARKS: Final = re.compile(r"[\\`*_\[\]<>&|~#!@:${}]|(?<=[wW])\.|^\s*(?:[-+=]|[0-9]{1,9}[.)])")
_TICKS: Final = re.compile("`+")


def _escaped_mark(match: re.Match[str]) -> str:
    before, mark = match[0][:-1], match[0][-1]
    if mark in "&<>":
        return {"&": "&amp;", "<": "&lt;", ">": "&gt;"}[mark]
    # An empty comment keeps renderers from joining what they would turn into a mention or an address.
    return f"{before}\\{mark}<!-- -->" if mark in "@#" else f"{before}\\{mark}"


def _visible(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def terminal(text: str) -> str:
    """One line that a terminal shows and never obeys: no control, direction or invisible character."""
    return _TERMINAL.sub(_visible, text)


def xml(text: str) -> str:
    """Text for XML 1.0: what the format forbids, a parser changes, or a reader can't see becomes visible.

    Line feeds and tabs stay. A carriage return does not: XML parsers turn it into a line feed.
    """
    return _XML.sub(_visible, text).replace(_ATTACHMENT, "[\\[ATTACHMENT|")


def json_text(text: str) -> str:
    """Text for JSON: a lone surrogate, which strict parsers refuse, becomes visible."""
    return _SURROGATE.sub(_visible, text)


def inline(text: str) -> str:
    """Log text inside a line of ours: terminal-safe, redacted, and no runner command in its middle."""
    return _RUNNER_ANYWHERE.sub(r"##\1[\\", terminal(redact(text)))


def log_line(text: str) -> str:
    """An excerpt as a line of its own on standard output or error, which no CI runner obeys.

    Runners take `::name::` at the start of a line, blanks before it ignored, so each excerpt starts
    with a bar; and `##[name]` anywhere, so that form is broken.
    """
    return f"| {inline(text)}"


def annotation(text: str) -> str:
    """What stands behind the second `::` of a GitHub workflow command; line feeds stay lines."""
    lines = (inline(line) for line in text.split("\n"))
    return "\n".join(lines).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def annotation_property(text: str) -> str:
    """The value of a property of a GitHub workflow command, such as `file` or `title`."""
    return annotation(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Words for GitHub's and GitLab's Markdown, a table's cell included, with nothing in them that is live.

    No emphasis, link, image, tag, table or list, and neither an address nor a mention of somebody.
    """
    return _MARKS.sub(_escaped_mark, inline(text))


def code(text: str) -> str:
    """Log text in a code span, behind which no renderer looks for markup."""
    shown = inline(text) or " "
    ticks = "`" * (1 + max(map(len, _TICKS.findall(shown)), default=0))
    edge = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{edge}{shown}{edge}{ticks}"


def csv_cell(text: str) -> str:
    """A cell of a CSV file: on one line, and nothing that a spreadsheet takes for a formula."""
    shown = inline(text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown


def code_cell(text: str) -> str:
    """As `code`, in a table's cell, where a bar ends the cell even inside of code."""
    return code(inline(text).replace("\\|", "\\x7c")).replace("|", "\\|")


def fence(lines: Iterable[str]) -> list[str]:
    """Log lines as a code block, each line made safe."""
    shown = [inline(line) for line in lines]
    ticks = "`" * max(3, 1 + max((len(run) for line in shown for run in _TICKS.findall(line)), default=0))
    return [f"{ticks}text", *shown, ticks]


def sarif(text: str) -> str:
    """A SARIF message, in which `[text](target)` would be a link."""
    return inline(text).replace("](", "] (")


def shorten(text: str, limit: int) -> str:
    """The text in at most `limit` characters; three dots say that it was cut."""
    if len(text) <= limit:
        return text
    if limit <= 3:
        return text[: max(limit, 0)]
    return text[: limit - 3].removesuffix("[") + "..."  # not between a runner's `##[` and what breaks it
