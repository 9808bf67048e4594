"""Room 1: what an argument means."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fallback_gate.sources import expand
from fallback_gate.sources.names import shown

FILES = ("a.log", "b.log", "c.txt", ".hidden.log", "d/e.log", "d/f/g.log", "d/.git/h.log", "d/f/i.txt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["a.log"], ["a.log"]),
        (["b.log", "a.log"], ["b.log", "a.log"]),
        (["a.log", "./a.log", "d/../a.log"], ["a.log"]),
        ([".hidden.log"], [".hidden.log"]),
        (["*.log"], ["a.log", "b.log"]),
        (["?.txt"], ["c.txt"]),
        (["[!a].log"], ["b.log"]),
        ([".*.log"], [".hidden.log"]),
        (["**/*.log"], ["a.log", "b.log", "d/e.log", "d/f/g.log"]),
        (["d/**/*.log"], ["d/e.log", "d/f/g.log"]),
        (["**/**/g.*"], ["d/f/g.log"]),
        (["**"], ["a.log", "b.log", "c.txt", "d/e.log", "d/f/g.log", "d/f/i.txt"]),
        (["*/e.log"], ["d/e.log"]),
        (["d*"], ["d/e.log", "d/f/g.log", "d/f/i.txt"]),
        (["d"], ["d/e.log", "d/f/g.log", "d/f/i.txt"]),
        (["d/"], ["d/e.log", "d/f/g.log", "d/f/i.txt"]),
        (["d/f", "d"], ["d/f/g.log", "d/f/i.txt", "d/e.log"]),
        (["."], ["a.log", "b.log", "c.txt", "d/e.log", "d/f/g.log", "d/f/i.txt"]),
        ([], []),
    ],
)
def test_expand(folder, arguments, names):
    sources, errors = expand(arguments, folder)
    assert errors == []
    assert [source.path.replace(os.sep, "/") for source in sources] == names


def test_absolute_arguments(folder):
    for argument in (folder / "a.log", folder / "a*"):
        sources, errors = expand([str(argument)], Path("/"))
        assert ([s.path for s in sources], errors) == ([str(folder / "a.log")], [])


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        ("nope.log", "nope.log: no such file or folder"),
        ("d/nope/x.log", "d/nope/x.log: no such file or folder"),
        ("*.nope", "*.nope: the pattern matches no file"),
        ("nope/**/*.log", "nope/**/*.log: the pattern matches no file"),
        ("emp*", "emp*: the pattern matches no file"),
        ("empty", "empty: the folder holds no file"),
        ("", "an empty argument names no log (is a variable unset?)"),
        ("x\0y", "x\\x00y: no such file or folder"),
        ("red\x1bc\nline", "red\\x1bc\\nline: no such file or folder"),
    ],
)
def test_one_clear_line_for_what_is_not_there(folder, argument, error):
    assert expand([argument], folder) == ([], [error])


def test_errors_do_not_hide_what_is_there(folder):
    sources, errors = expand(["nope.log", "a.log", "*.nope"], folder)
    assert [source.path for source in sources] == ["a.log"]
    assert len(errors) == 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["a.log"], True),
        (["a.*"], False),
        (["."], False),
        ([".", "a.log"], True),
        (["a.log", "."], True),
    ],
)
def test_named(folder, arguments, named):
    sources, _ = expand(arguments, folder)
    assert {source.path: source.named for source in sources}["a.log"] is named


def test_size(folder):
    assert [source.size for source in expand(["c.txt"], folder)[0]] == [5]


@pytest.mark.skipif(sys.platform == "win32", reason="no such file names there")
def test_file_whose_name_looks_like_a_pattern(folder):
    (folder / "rank[0]*.log").write_text("x")
    sources, errors = expand(["rank[0]*.log"], folder)
    assert [(source.path, source.named) for source in sources] == [("rank[0]*.log", True)]
    assert errors == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
class TestLinks:
    def test_file_behind_a_link_is_read_once(self, folder):
        (folder / "latest.log").symlink_to("a.log")
        assert [s.path for s in expand(["a.log", "latest.log"], folder)[0]] == ["a.log"]
        assert [s.path for s in expand(["latest.log"], folder)[0]] == ["latest.log"]

    def test_loops_end(self, folder):
        for name in ("d/loop", "d/f/loop", "d/f/pool"):
            (folder / name).symlink_to(folder, target_is_directory=True)
        expected = ["d/e.log", "d/f/g.log", "d/f/i.txt"]
        for argument in ("d", "d/**", "d/**/*.*"):
            sources, errors = expand([argument], folder)
            assert ([s.path for s in sources[:-1]], errors) == (expected, [])
            assert "a link to a folder" in str(sources[-1].problem)

    def test_link_to_a_folder_that_is_read_too(self, folder):
        (folder / "latest").symlink_to("d", target_is_directory=True)
        assert [s.path for s in expand(["d", "latest"], folder)[0]] == ["d/e.log", "d/f/g.log", "d/f/i.txt"]
        for argument in (".", "**", "**/*.*"):
            assert [s.path for s in expand([argument], folder)[0] if s.problem] == []

    def test_link_to_a_folder_elsewhere_is_not_passed_over(self, folder):
        (folder / "empty" / "more").symlink_to(folder / "d", target_is_directory=True)
        for argument in ("empty", "empty/**", "empty/**/*.log"):
            (source,), errors = expand([argument], folder)
            assert (source.path, source.named, source.rereadable) == ("empty/more", False, False)
        assert [s.path for s in expand(["empty", "empty/more"], folder)[0] if s.problem] == []

    def test_link_to_nothing(self, folder):
        (folder / "d" / "gone.log").symlink_to("nowhere")
        for argument in ("d", "d/**", "d/*.log"):
            assert expand([argument], folder)[1] == ["d/gone.log: can't be read: No such file or directory"]
        assert expand(["d/gone.log"], folder)[1] == ["d/gone.log: can't be read: No such file or directory"]

    def test_link_to_itself_is_an_error_also_in_a_folder(self, folder):
        (folder / "d" / "self.log").symlink_to("self.log")
        for argument in ("d/self.log", "d", "d/*.log"):
            (error,) = expand([argument], folder)[1]
            assert error.startswith("d/self.log: can't be read: ")


def test_link_that_can_not_be_read(folder, monkeypatch):
    """As those of other users' processes under /proc: its target is asked for, and refused."""

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os.path, "realpath", refuse)
    sources, errors = expand(["a.log", "d"], folder)
    assert [source.path for source in sources] == ["a.log", "d/e.log", "d/f/g.log", "d/f/i.txt"]
    assert errors == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read all")
def test_without_permission(folder):
    (folder / "a.log").chmod(0)
    assert expand(["a.log"], folder) == ([], ["a.log: can't be read: Permission denied"])
    (folder / "d" / "f").chmod(0)
    sources, errors = expand(["d"], folder)
    (folder / "d" / "f").chmod(0o700)
    assert [source.path for source in sources] == ["d/e.log"]
    assert errors == ["d/f: the folder can't be read: Permission denied"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_in_a_folder_are_passed_over(folder):
    os.mkfifo(folder / "empty" / "pipe")
    assert expand(["empty"], folder) == ([], ["empty: the folder holds no file"])
    assert expand(["empty/*"], folder) == ([], ["empty/*: the pattern matches no file"])


def test_deep_folder(folder):
    deep = folder.joinpath("deep", *["n"] * 150)
    deep.mkdir(parents=True)
    (deep / "z.log").write_text("z")
    for argument in ("deep", "deep/**/z.log"):
        assert [Path(s.path).name for s in expand([argument], folder)[0]] == ["z.log"]


def test_closed_standard_input(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert expand(["-"], folder) == ([], ["-: standard input is closed"])


def test_standard_input_is_read_once(folder):
    assert [s.path for s in expand(["-", "a.log", "-"], folder)[0]] == ["<stdin>", "a.log"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("büild 日.log", "büild 日.log"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("\udcff.log", "\\udcff.log"),
        ("::error::x", "::error::x"),
        ("\u202egol.a", "\\u202egol.a"),
    ],
)
def test_shown(name, expected):
    assert shown(name) == expected
