"""Room 1: a text that goes on in another form is no whole log; what was read before is still told."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zipfile
from datetime import date
from pathlib import Path

import pytest
import zstandard

from fallback_gate import check
from fallback_gate.model import Outcome

CLEAN = (Path(__file__).parent.parent / "data" / "clean.2.9.1.log").read_bytes()
NOTE = "fallback to eager: op=gate_attn\n"
LONG = b"a plain line of a log\n" * 5000  # beyond what is looked at first
WIDE = CLEAN.decode().encode("utf-16-le")


def zipped(text: bytes) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.txt", text)
    return memory.getvalue()


PARTS = {
    "UTF-16LE": NOTE.encode("utf-16-le"),
    "UTF-16LE with mark": codecs.BOM_UTF16_LE + NOTE.encode("utf-16-le"),
    "UTF-16BE": NOTE.encode("utf-16-be"),
    "UTF-16BE with mark": codecs.BOM_UTF16_BE + NOTE.encode("utf-16-be"),
    "UTF-32LE": NOTE.encode("utf-32-le"),
    "UTF-32BE": NOTE.encode("utf-32-be"),
    "gzip": gzip.compress(NOTE.encode()),
    "xz": lzma.compress(NOTE.encode()),
    "Zstandard": zstandard.compress(NOTE.encode()),
    "zip": zipped(NOTE.encode()),
}


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("start", [CLEAN, LONG], ids=["short", "long"])
def test_text_then_something_else(decode, start, part, size):
    text, problem = decode(start + PARTS[part] + CLEAN, size)
    assert text == start + PARTS[part] + CLEAN
    assert "changes its form" in problem


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "part",
    [NOTE.encode(), b"!", PARTS["gzip"], PARTS["UTF-32LE"], None],
    ids=["UTF-8", "one byte", "gzip", "UTF-32", "the other order"],
)
@pytest.mark.parametrize("many", [1, 20])
def test_utf_16_then_something_else(decode, codec, part, many):
    wide = CLEAN.decode().encode(codec) * many
    other = "utf-16-be" if codec == "utf-16-le" else "utf-16-le"
    mark = codecs.BOM_UTF16_LE if codec == "utf-16-le" else codecs.BOM_UTF16_BE
    text, problem = decode(mark + wide + (part or NOTE.encode(other)) + wide, 999)
    assert text.startswith(CLEAN * many)
    assert "changes its form" in problem


@pytest.mark.parametrize(
    "text",
    [
        "\u65e5\u5fd7\u4e2d\u7684\u4e00\u884c " * 3000,
        "a hole: " + "\0" * 1001 + " and on\n",
        "\ufffd\ufffd\ufffd\ufffd of a child's progress bar\n" * 100,
        "\U0001f600" * 50_000,
        "\u2550" * 80 + "\u2500" * 80 + "\u3000" * 80,
    ],
)
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_what_stands_in_utf_16(decode, codec, text):
    mark = codecs.BOM_UTF16_LE if codec == "utf-16-le" else codecs.BOM_UTF16_BE
    whole = "compiling\n" * 100 + text
    assert decode(mark + whole.encode(codec)) == (whole.encode(), "")


@pytest.mark.parametrize(
    "dirt",
    [
        bytes(1_400) + b" a hole\n",
        b"X\x1b\0\0\0decompose_custom_triton_opsq\x04K\0X\x14\0\0\0static_weight_shapes\n" * 500,
        b"one\0two\0three\0four\0\n" * 2000,
        b"garbage \xff\xfe caf\xe9 \x1f \x8b \x08 \xfd PK \x03 \x04\n",
        "\u2588 \u65e5\u5fd7\n".encode() * 100,
        b"PK\4" * 5000,
    ],
)
def test_dirt_in_a_log(decode, dirt):
    assert decode(LONG + dirt + LONG) == (LONG + dirt + LONG, "")


@pytest.mark.parametrize(
    "part", [*PARTS.values(), b"\xef\xbb\xbf" + NOTE.encode()], ids=[*PARTS, "UTF-8 with mark"]
)
def test_verdict(tmp_path, part):
    log = tmp_path / "a.log"
    log.write_bytes(CLEAN)
    assert check([log], "builtin:strict", today=date(2026, 11, 30)).outcome is Outcome.PASS
    log.write_bytes(CLEAN + part)
    outcome = check([log], "builtin:strict", today=date(2026, 11, 30)).outcome
    assert outcome is (Outcome.BLOCKED if NOTE.encode() in part else Outcome.UNPROVEN)
    log.write_bytes(CLEAN + part + b"\n" + NOTE.encode())
    assert check([log], "builtin:strict", today=date(2026, 11, 30)).outcome is Outcome.BLOCKED


@pytest.mark.parametrize("code", ["\x1b[0m", "\x1b[31mred\x1b[0m", "\x1b[32;1mok\x1b[m"])
@pytest.mark.parametrize("lines", [1, 3000, 60_000], ids=["same read", "further on", "another read"])
def test_a_late_colour_code_hides_no_line_behind_it(tmp_path, code, lines):
    """All lines of the read that holds the code are read again without it: none may count as known."""
    log = tmp_path / "late.log"
    between = b"a plain line of a log\n" * lines
    fallbacks = [f"fallback to eager: op={name}\n".encode() for name in ("first", "second", "third")]
    log.write_bytes(CLEAN + LONG + f"{code}\n".encode() + between.join(fallbacks))
    verdict = check([log], cwd=tmp_path, today=date(2026, 11, 30), environ={})
    start = (CLEAN + LONG).count(b"\n") + 2
    assert [(f.event.op, f.event.line) for f in verdict.findings] == [
        ("first", start),
        ("second", start + 1 + lines),
        ("third", start + 2 + 2 * lines),
    ]
