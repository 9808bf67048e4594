"""Room 1: members of zip archives, and archives that are not what they say."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from pathlib import Path

import pytest

from fallback_gate.sources import expand

TEXT = b"".join(b"line %d of the build\n" % n for n in range(20_000))


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def read(path: Path, drain) -> dict[str, tuple[bytes, str]]:
    sources, errors = expand([path.name], path.parent)
    assert errors == []
    return {source.path: drain(source.open()) for source in sources}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members(tmp_path, drain, method):
    path = archive(
        tmp_path / "run.zip",
        {
            "3_build.txt": TEXT,
            "build/1_setup.txt": b"",
            "build/2_log.gz": gzip.compress(TEXT),
            "build/wide.txt": b"\xff\xfe" + "breit\n".encode("utf-16-le"),
            "__MACOSX/._3_build.txt": b"junk",
            ".hidden": b"junk",
        },
        method,
    )
    assert read(path, drain) == {
        "run.zip!/3_build.txt": (TEXT, ""),
        "run.zip!/build/1_setup.txt": (b"", ""),
        "run.zip!/build/2_log.gz": (TEXT, ""),
        "run.zip!/build/wide.txt": (b"breit\n", ""),
    }


def test_facts_of_a_member(tmp_path):
    path = archive(tmp_path / "run.zip", {"a.txt": TEXT, "b.txt": b"abc"})
    sources, _ = expand([str(path)], tmp_path)
    assert [(s.size, s.named, s.rereadable) for s in sources] == [
        (len(TEXT), False, False),
        (3, False, False),
    ]
    # SHA-256 of "abc": FIPS 180-2, appendix B.1
    assert sources[1].sha256() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_only_member_of_a_named_archive_is_named(tmp_path):
    archive(tmp_path / "run.zip", {"a.txt": TEXT})
    assert [s.named for s in expand(["run.zip"], tmp_path)[0]] == [True]
    assert [s.named for s in expand(["*.zip"], tmp_path)[0]] == [False]


def test_names_that_climb_are_only_names(tmp_path, drain):
    folder = tmp_path / "in"
    folder.mkdir()
    path = archive(
        folder / "run.zip", {"../../up.txt": b"up\n", "/abs.txt": b"abs\n", "a\x1b[31m\n.txt": b"x\n"}
    )
    assert read(path, drain) == {
        "run.zip!/../../up.txt": (b"up\n", ""),
        "run.zip!//abs.txt": (b"abs\n", ""),
        "run.zip!/a\\x1b[31m\\n.txt": (b"x\n", ""),
    }
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["in", "run.zip"]


def test_a_member_without_a_name(tmp_path, drain):
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), "text\n")
    (source,), errors = expand(["run.zip"], tmp_path)
    assert (source.path, drain(source.open()), errors) == ("run.zip!/", (b"text\n", ""), [])


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_stay_two(tmp_path, drain):
    path = tmp_path / "run.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.txt", b"first\n")
        file.writestr("a.txt", b"second\n")
    assert read(path, drain) == {"run.zip!/a.txt": (b"first\n", ""), "run.zip!/a.txt (2)": (b"second\n", "")}


@pytest.mark.parametrize(
    ("before", "behind", "why"),
    [
        (b"PK\x03\x04 some stub", b"", "14 bytes before its first member"),
        (b"", b"fallback to eager: op=gate_attn\n", "32 bytes behind its end"),
    ],
)
def test_bytes_that_belong_to_no_member(tmp_path, drain, before, behind, why):
    """An archive behind another: its own members are read, and the rest is not passed over in silence."""
    path = archive(tmp_path / "run.zip", {"a.txt": TEXT})
    path.write_bytes(before + path.read_bytes() + behind)
    texts = read(path, drain)
    assert texts["run.zip!/a.txt"] == (TEXT, "")
    assert why in texts["run.zip"][1]


def test_names_from_windows_and_folders_with_bytes(tmp_path, drain):
    path = archive(
        tmp_path / "run.zip",
        {
            ".\\logs\\x.log": b"x\n",
            "..\\..\\y.log": b"y\n",
            "evil.log/": b"z\n",
            "folder/": b"",
            "a\\.git\\b": b"",
        },
    )
    assert read(path, drain) == {
        "run.zip!/.\\logs\\x.log": (b"x\n", ""),
        "run.zip!/..\\..\\y.log": (b"y\n", ""),
        "run.zip!/evil.log/": (b"z\n", ""),
    }


def test_empty_archive_is_an_error(tmp_path):
    archive(tmp_path / "run.zip", {})
    assert expand(["run.zip"], tmp_path) == ([], ["run.zip: the archive holds no file"])


def test_zip_inside_zip(tmp_path, drain):
    inner = archive(tmp_path / "inner.zip", {"a.txt": TEXT}).read_bytes()
    path = archive(tmp_path / "outer.zip", {"inner.zip": inner, "b.txt": b"b\n"})
    texts = read(path, drain)
    assert texts["outer.zip!/b.txt"] == (b"b\n", "")
    assert texts["outer.zip!/inner.zip"][0] == b""
    assert "unpack it first" in texts["outer.zip!/inner.zip"][1]


@pytest.mark.parametrize("kept", [10, 100, 0.5, -30, -1])
def test_cut_archive_is_unreadable_not_missing(tmp_path, drain, kept):
    path = archive(tmp_path / "run.zip", {"a.txt": TEXT, "b.txt": TEXT})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept) if isinstance(kept, float) else kept])
    ((name, (text, problem)),) = read(path, drain).items()
    assert (name, text) == ("run.zip", b"")
    assert problem.startswith("zip archive is cut off or corrupt")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_flipped_byte_in_a_member(tmp_path, drain, method):
    path = archive(tmp_path / "run.zip", {"a.txt": TEXT, "b.txt": b"b\n"}, method)
    stored = bytearray(path.read_bytes())
    stored[2_000] ^= 0x55
    path.write_bytes(stored)
    texts = read(path, drain)
    assert "corrupt" in texts["run.zip!/a.txt"][1]
    assert texts["run.zip!/b.txt"] == (b"b\n", "")


def test_wrong_checksum(tmp_path, drain):
    path = archive(tmp_path / "run.zip", {"a.txt": TEXT})
    stored = path.read_bytes()
    directory = stored.index(b"PK\x01\x02")
    path.write_bytes(stored[: directory + 16] + b"\0\0\0\0" + stored[directory + 20 :])
    text, problem = read(path, drain)["run.zip!/a.txt"]
    assert text == TEXT
    assert "checksum or size is wrong" in problem


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        (8, 0x0001, "encrypted"),
        (10, 14, "compression method 14"),
        (10, 9, "compression method 9"),
    ],
)
def test_members_that_we_do_not_read(tmp_path, drain, field, value, why):
    path = archive(tmp_path / "run.zip", {"a.txt": TEXT})
    stored = bytearray(path.read_bytes())
    struct.pack_into("<H", stored, stored.index(b"PK\x01\x02") + field, value)
    path.write_bytes(stored)
    text, problem = read(path, drain)["run.zip!/a.txt"]
    assert text == b""
    assert why in problem


def test_members_that_share_bytes(tmp_path, drain):
    path = archive(tmp_path / "run.zip", {"a.txt": TEXT})
    stored = path.read_bytes()
    start, end = stored.index(b"PK\x01\x02"), stored.index(b"PK\x05\x06")
    entry = stored[start:end]
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 50, 50, 50 * len(entry), start, 0)
    path.write_bytes(stored[:start] + entry * 50 + tail)
    ((name, (text, problem)),) = read(path, drain).items()
    assert (name, text) == ("run.zip", b"")
    assert "more bytes than the archive" in problem


def test_bomb_in_a_member(tmp_path, drain):
    path = archive(tmp_path / "run.zip", {"a.txt": b"boom\n" * (20 << 20)})
    assert "-fold" in read(path, drain)["run.zip!/a.txt"][1]


def test_a_zip_under_another_name(tmp_path, drain):
    """Named, it is an archive; found in a folder, a model file or a wheel is not taken apart."""
    archive(tmp_path / "model.pt", {"data.pkl": b"a\n", "version": b"3\n"})
    assert [s.path for s in expand(["model.pt"], tmp_path)[0]] == ["model.pt!/data.pkl", "model.pt!/version"]
    (source,), errors = expand(["."], tmp_path)
    assert (source.path, errors) == ("model.pt", [])
    assert "unpack it first" in drain(source.open())[1]


def test_a_zip_on_standard_input(decode):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        file.writestr("a.txt", TEXT)
    text, problem = decode(memory.getvalue())
    assert text == b""
    assert "unpack it first" in problem
