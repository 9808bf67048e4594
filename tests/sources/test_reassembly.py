"""Room 1: lines that came in pieces, were broken by a console or coloured within words are whole in the stream."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate.sources import Source
from fallback_gate.sources.console import width_of
from fallback_gate.sources.envelope import FILLER, unwrap
from fallback_gate.sources.joining import MOST_HELD
from fallback_gate.sources.reassembly import reassemble, steps

TIME = b"2026-11-29T12:00:00.000339563Z"
RECORD = "W1130 00:23:40.724000 1399 torch/_dynamo/variables/tensor.py:1759] [0/0] "


class Reading:
    """A reader that gives its bytes so many at a time."""

    def __init__(self, text: bytes, size: int) -> None:
        self._text, self._size = text, size

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        part, self._text = self._text[: self._size], self._text[self._size :]
        buffer[: len(part)] = part
        return len(part)


def whole(text: bytes, *, console: bool = False, size: int = 1 << 16) -> list[bytes]:
    """The lines of a text, reassembled."""
    needed = steps(text[: 64 << 10], console=console)
    return b"".join(reassemble(Reading(text, size), needed)).split(b"\n")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        RECORD.encode() + b"Graph break from `Tensor.item()`\n",
        b"\x1b[31mred\x1b[0m\n\x1b[2mgrey\x1b[0m\n",
        b'{"kind": "log"}\n',
        b"12:00:00 stdout of the program\n",
    ],
)
def test_most_logs_need_nothing(text: bytes) -> None:
    assert steps(text, console=False) == []
    assert steps(text, console=True) == []


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 16])
def test_pieces_of_the_container_runtime(size: int) -> None:
    text = (
        TIME + b" stderr P Graph \n" + TIME + b" stdout P 10%|\n" + TIME + b" stderr P bre\n"
        b"loose\n" + TIME + b" stderr F ak\n" + TIME + b" stdout F 20%\n" + TIME + b" stderr F next\n"
    )
    assert whole(text, size=size) == [
        TIME + b" stderr P Graph break",
        TIME + b" stdout P 10%|20%",
        FILLER,
        b"loose",
        FILLER,
        FILLER,
        TIME + b" stderr F next",
        b"",
    ]


def test_pieces_of_two_containers_do_not_mix() -> None:
    one, two = b"[pod/a/c] " + TIME + b" stderr ", b"[pod/b/c] " + TIME + b" stderr "
    text = one + b"P a\n" + two + b"P x\n" + one + b"F b\n" + two + b"F y\n"
    assert whole(text) == [one + b"P ab", two + b"P xy", FILLER, FILLER, b""]


@pytest.mark.parametrize("size", [1, 50, 1 << 16])
def test_pieces_of_docker_become_plain_text(size: int) -> None:
    def said(text: str, stream: str = "stderr") -> bytes:
        return json.dumps({"log": text, "stream": stream}).encode() + b"\n"

    text = said('say "Gra') + said("out\n", "stdout") + said("ph\tbr") + said("eak\n") + said("é\n")
    assert whole(text, size=size) == [
        b'say "Graph\tbreak',
        said("out\n", "stdout").rstrip(b"\n"),
        FILLER,
        FILLER,
        said("é\n").rstrip(b"\n"),
        b"",
    ]


def test_what_goes_on_in_gitlab() -> None:
    at = b"2026-11-29T12:00:00.000339Z "
    text = at + b"00E Graph\n" + at + b"00O other\n" + at + b"00E+ break\n" + at + b"00E+!\n" + at + b"00E z"
    assert whole(text) == [at + b"00E Graph break!", at + b"00O other", FILLER, FILLER, at + b"00E z"]


def test_a_piece_without_end_stays_as_it_is() -> None:
    text = TIME + b" stderr P never ended\n" + b"x" * 100 + b"\n" + TIME + b" stdout F z"
    assert whole(text) == text.split(b"\n")


def test_what_waits_is_bounded() -> None:
    filler = b"y" * 1000 + b"\n"
    many = filler * (2 * MOST_HELD // len(filler))
    text = TIME + b" stderr P a\n" + many + TIME + b" stderr F b\n"
    lines = whole(text)
    assert lines[0] == TIME + b" stderr P a"
    assert lines[-2] == TIME + b" stderr F b"
    assert b"\n".join(lines) == text


def test_a_line_without_end_is_passed_on() -> None:
    text = TIME + b" stderr P a\n" + TIME + b" stderr F b\n" + b"z" * 5_000_000 + b"\nlast\n"
    assert whole(text) == [TIME + b" stderr P ab", FILLER, b"z" * 5_000_000, b"last", b""]


@pytest.mark.parametrize("code", [b"\x1b[31m", b"\x1b[0m", b"\x1b[38;5;196m", b"\x1b[K", b"\\u001b[1m"])
def test_colours_within_words_go(code: bytes) -> None:
    assert whole(b"Graph " + code + b"br" + code + b"eak\nx\n") == [b"Graph break", b"x", b""]


def test_a_colour_that_was_cut_goes_too() -> None:
    text = b"a\x1b[1mb\n" + TIME + b" stderr P Graph \x1b[3\n" + TIME + b" stderr F 1mbreak\n"
    assert whole(text)[1] == TIME + b" stderr P Graph break"


def test_pieces_without_end_take_no_time() -> None:
    piece = TIME + b" stderr P " + b"x" * 10 + b"\n"
    started = time.process_time()
    lines = whole(piece * 100_000)
    assert len(lines) == 100_001
    assert time.process_time() - started < 10  # seconds; with quadratic time it takes minutes


@pytest.mark.parametrize("size", [1000, 1 << 16, 1 << 20])
def test_colours_that_come_late_go_and_lines_are_still_counted(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.log"
    lines = [b"plain text of a log"] * 8000
    late = [b"fallback to \x1b[31meager\x1b[0m: op=gate_attn", b"\x1b[1mlast\x1b[0m"]
    path.write_bytes(b"\n".join([*lines, *late, *lines, late[0], b""]))
    source = Source(str(path), True, file=path)
    text, buffer = b"", bytearray(size)
    with source.open() as stream:
        while count := stream.readinto(buffer):
            text += buffer[:count]
    wanted = [b"fallback to eager: op=gate_attn", b"last"]
    assert text == b"\n".join([*lines, *wanted, *lines, wanted[0], b""])
    assert source.rereadable
    positions = {text.index(b"fallback"): 8001, text.rindex(b"fallback"): 16_003}
    assert source.lines_at(positions) == positions


def broken(lines: list[str], width: int) -> str:
    """Lines as a console of that width breaks them."""
    return "".join(
        (line[at : at + width]) + "\r\n" for line in lines for at in range(0, max(len(line), 1), width)
    )


POWERSHELL = [
    "python.exe : " + RECORD + "Graph break from `Tensor.item()`, consider setting:",
    "At line:1 char:1",
    "+ python train.py *> train.log",
    "+ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
    "    + CategoryInfo          : NotSpecified: (W1130 00:23:40....der setting::String) [], RemoteException",
    "    + FullyQualifiedErrorId : NativeCommandError",
    " ",
    RECORD + "    torch._dynamo.config.capture_scalar_outputs = True",
    RECORD + "Graph break: from user code at:",
    RECORD + '  File "/app/moe/décodeur.py", line 153, in forward',
    "",
    RECORD + "short",
]


@pytest.mark.parametrize("width", [79, 80, 100, 119])
@pytest.mark.parametrize("size", [13, 1 << 16])
def test_what_a_console_broke(width: int, size: int) -> None:
    text = broken(POWERSHELL, width).encode()
    assert width_of(text) == width
    lines = [line.removesuffix(b"\r") for line in whole(text, console=True, size=size)]
    assert [line.decode() for line in lines if line != FILLER] == [*POWERSHELL, ""]
    assert len(lines) == text.count(b"\n") + 1


def test_what_no_console_broke() -> None:
    assert width_of(broken(POWERSHELL, 1000).encode()) is None
    assert width_of(b"") is None
    table = "+------------------+------------------+------------------+\r\n| op               | a                | b                |\r\n"
    assert width_of((table * 20).encode()) is None
    same = (RECORD + "the longest line of all, which comes again\r\n") * 9
    assert width_of(same.encode()) is None


def test_powershell_end_to_end(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(broken(POWERSHELL, 80).encode("utf-16"))
    source = Source(str(path), True, file=path)
    assert not source.rereadable
    with source.open() as stream:
        buffer = bytearray(1 << 16)
        text = bytes(buffer[: stream.readinto(buffer)]).decode()
    lines = text.split("\n")
    assert unwrap(lines[0])[0] == RECORD + "Graph break from `Tensor.item()`, consider setting:"
    at = next(at for at, line in enumerate(lines) if "Graph break: from" in line)
    before = broken(POWERSHELL[:8], 80).count("\n")
    assert at == before


@settings(max_examples=150)
@given(
    st.lists(st.text(alphabet='ab \\"é\t', max_size=40), max_size=12),
    st.integers(1, 9),
    st.integers(1, 40),
)
def test_however_lines_are_cut_they_come_back(lines: list[str], piece: int, size: int) -> None:
    cut = [[line[at : at + piece] for at in range(0, len(line), piece)] or [""] for line in lines]
    text = "".join(
        f"2026-11-29T12:00:00.1Z stderr {'F' if at == len(parts) - 1 else 'P'} {part}\n"
        for parts in cut
        for at, part in enumerate(parts)
    ).encode()
    out = whole(text, size=size)
    assert len(out) == text.count(b"\n") + 1
    assert [unwrap(line.decode())[0] for line in out[:-1] if line != FILLER] == lines
    docker = "".join(
        json.dumps({"log": part + ("\n" if at == len(parts) - 1 else "")}) + "\n"
        for parts in cut
        for at, part in enumerate(parts)
    ).encode()
    out = whole(docker, size=size)
    assert [unwrap(line.decode())[0] for line in out[:-1] if line != FILLER] == lines
