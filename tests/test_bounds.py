"""Whatever is put into any command: an end in bounded time and memory, one clear text, the contract's exit code.

Each row is a file that is made to harm, the command that reads it, its exit code and what it says. None passes.
The limits are those of SECURITY.md. The command runs in this process, and for each row within the same limits of
memory and time.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fallback_gate.__main__ import main
from tests import bad_files as bad
from tests.bad_files import BLOCKING, CLEAN, put

MEMORY = 600 << 20  # bytes that a row may take beyond what the process has
SECONDS = 30.0  # of CPU
POSIX = pytest.mark.skipif(os.name == "nt", reason="links, pipes and devices")
ZERO = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
EXPLODING = r"(?:(?:a|aa)+)+$"
RULES = """version: 1
rules:
  - id: acme/slow
    compiler: acme
    anchor: "acme slow"
    pattern: '%s'
    kind: op_fallback
    scope: operator
    matches: ["acme slow op=x", "acme slow aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"]
"""
Given = Callable[[Path], list[str]]


def check(make: Callable[[Path], str], *options: str) -> Given:
    """`check` of the one log that is made."""
    return lambda folder: ["check", make(folder), *options]


def beside(option: str, make: Callable[[Path], str], *more: str) -> Given:
    """`check` of a log that passes, with the file that is made as this option's."""
    return lambda folder: ["check", put(folder, "clean.log", CLEAN), option, make(folder), *more]


def policy(text: str) -> Given:
    """`check` of a log that passes, by this policy."""
    return beside("-p", lambda folder: put(folder, "policy.yaml", text))


def command(*words: str) -> Callable[[Callable[[Path], str]], Given]:
    """Another command on the file that is made."""
    return lambda make: lambda folder: [*words, make(folder)]


ROWS: dict[str, tuple[Given, int, str]] = {
    "zip: a bomb": (check(bad.zip_bomb), 3, "a bomb"),
    "zip: members that share their bytes": (check(bad.shared_bytes), 3, "hold more bytes than the archive"),
    "zip: a member of another size": (check(bad.another_size), 3, "checksum or size is wrong"),
    "zip: a member with a password": (check(bad.encrypted), 3, "encrypted"),
    "zip: a link to a file of the system": (check(bad.link_in_a_zip), 3, "no line of a known compiler"),
    "zip: an archive in an archive": (
        check(lambda f: bad.archive(f, ("b.zip", b"PK\3\4" + bytes(40)))), 3, "unpack it first",
    ),
    "zip: paths that climb, of a log that blocks": (
        check(lambda f: bad.archive(f, ("../../climbed.log", BLOCKING), ("/climbed.log", CLEAN))), 1, "run.zip!/../../climbed.log",
    ),
    "zip: a name that is a command": (check(lambda f: bad.archive(f, ("\x1b[2J\n::error::x", "x"))), 3, r"run.zip!/\x1b[2J\n::error::x"),
    "gzip: a bomb": (check(bad.gzip_bomb), 3, "a bomb"),
    "gzip: packed nine times": (check(bad.gzip_of_gzips), 3, "compressed data inside gzip data"),
    "zstd: 2 GiB of window": (check(bad.wide_window), 3, "corrupt Zstandard data"),
    "log: ten thousand events and more": (check(lambda f: bad.many_events(f, 12_000)), 1, "10,"),
    "log: openings of records that never end": (check(lambda f: put(f, "a.log", '{"log":"\n' * 50_000)), 3, "no line of a known compiler"),
    "policy: aliases of aliases": (beside("-p", lambda f: bad.aliases(f, "p.yaml")), 2, "p.yaml:1: more than 50000 values"),
    "policy: merges of merges": (beside("-p", lambda f: bad.merges(f, "p.yaml")), 2, "p.yaml:1: more than 50000 values"),
    "policy: nested deep": (beside("-p", lambda f: bad.deep_yaml(f, "p.yaml")), 2, "p.yaml:2: more than 40 levels"),
    "policy: an alias of itself": (policy("version: 1\nhot: &a [*a]\n"), 2, "policy.yaml:2: an alias that holds itself"),
    "policy: 300 KB": (policy("version: 1\n" + "# x\n" * 75_000), 2, "larger than 256 KiB"),
    "policy: code in a tag": (policy("version: 1\nname: !!python/object/apply:os.system [touch climbed.log]\n"), 2, "is not allowed"),
    "policy: a number of 100,000 digits": (policy(f"version: {'9' * 100_000}\n"), 2, "is no valid int"),
    "policy: a pattern that explodes on its own line": (policy(RULES % EXPLODING), 2, "takes longer than"),
    "policy: a pattern that explodes as it is compiled": (policy(RULES % r"(((x{1,99}){1,99}){1,99}){1,99}"), 2, "repeats"),
    "policy: it extends itself": (policy("version: 1\nextends: [policy.yaml]\n"), 2, "policy.yaml:2"),
    "rules: aliases of aliases": (beside("--rules", lambda f: bad.aliases(f, "r.yaml")), 2, "r.yaml:1: more than"),
    "waiver: aliases of aliases": (beside("--waiver", lambda f: bad.aliases(f, "w.yaml"), "--release", "1"), 2, "w.yaml:1: more than"),
    "baseline: nested deep": (beside("-b", lambda f: bad.deep_json(f, "b.json", "\n" * (256 << 10))), 2, "b.json:1: this is not valid JSON"),
    "baseline: aliases of aliases": (beside("-b", lambda f: bad.aliases(f, "b.json")), 2, "b.json:1: more than"),
    "diff: a report that is nested deep": (
        lambda f: ["diff", put(f, "clean.log", CLEAN), bad.deep_json(f, "r.json", '{"schema": "fallback-gate/1", "x": ')], 2, "no JSON report",
    ),
    "diff: a report that is cut": (lambda f: ["diff", put(f, "clean.log", CLEAN), put(f, "r.json", '{"schema": "fallback-gate/1", ')], 2, "no JSON report"),
    "trace: nested deep": (command("trace")(lambda f: bad.deep_json(f, "t.json", '{"traceEvents": [')), 2, "an event can't be read"),
    "trace: a gzip bomb": (command("trace")(lambda f: put(f, "t.json.gz", bad.gzip_bomb(f)) and bad.gzip_bomb(f)), 2, "no trace"),
    "bench: nested deep": (command("bench")(lambda f: bad.deep_json(f, "b.json", opening='{"a":')), 2, "nested too deep"),
    "counters: a line without an end": (command("counters")(lambda f: put(f, "c.csv", "x" * 3_000_000)), 2, "a line of more than"),
    "numerics: a header that runs code": (
        lambda f: ["numerics", bad.npy(f, b"__import__('os').system('touch climbed.log')"), "a.npy"], 2, "not a whole file of tensors",
    ),
    "numerics: a header that is nested deep": (lambda f: ["numerics", bad.npy(f, b"(" * 4500), "a.npy"], 2, "not a whole file of tensors"),
    "numerics: a header of a terabyte": (lambda f: ["numerics", bad.safetensors(f, b"{}", 1 << 40), "a.safetensors"], 2, "header is longer"),
    "numerics: safetensors nested deep": (lambda f: ["numerics", bad.safetensors(f, b'{"a":' + b"[" * bad.DEEP), "a.safetensors"], 2, "nested too deep"),
}  # fmt: skip
POSIX_ROWS: dict[str, tuple[Given, int, str]] = {
    "a link to itself": (check(bad.loop), 2, "loop.log: can't be read"),
    "a link to nothing in a folder": (check(bad.link_to_nothing), 2, "a.log: can't be read"),
    "a folder that is linked into itself": (check(lambda f: (bad.link_to_nothing(f), os.symlink("../d", f / "d/in"))[0]), 2, "a.log: can't be read"),
    "the device without an end": (lambda f: ["check", "/dev/zero"], 3, "nothing but NULs"),
    "the device of chance": (lambda f: ["check", "/dev/urandom"], 3, "binary data"),
    "the device of nothing": (lambda f: ["check", "/dev/null"], 3, "the log is empty"),
    "a policy without an end": (beside("-p", lambda f: "/dev/zero"), 2, "larger than 256 KiB"),
    "a waiver without an end": (beside("--waiver", lambda f: "/dev/zero", "--release", "1"), 2, "larger than 256 KiB"),
    "a baseline without an end": (beside("-b", lambda f: "/dev/zero"), 2, "larger than"),
    "a trace without an end": (command("trace")(lambda f: "/dev/zero"), 2, "NULs"),
    "counters without an end": (command("counters")(lambda f: "/dev/zero"), 2, "a pipe or a device"),
    "a benchmark without an end": (command("bench")(lambda f: "/dev/zero"), 2, "a pipe or a device"),
}  # fmt: skip


@pytest.fixture
def bounded() -> Iterator[None]:
    """A limit of memory for this process, where the system has one, and of time, which is looked at afterwards."""
    began, limit, hard = time.process_time(), None, 0
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    except (ImportError, OSError, ValueError):
        pass  # the other systems: the limits are the same code
    yield
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    assert time.process_time() - began < SECONDS


def told(
    arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Exit code and all that was said."""
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["fallback-gate", *arguments])
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("NO_COLOR", "1")
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, re.sub(r"\s+", " ", out + err)


@pytest.mark.parametrize(("given", "code", "says"), [
    *(pytest.param(*row, id=name) for name, row in ROWS.items()),
    *(pytest.param(*row, id=name, marks=[POSIX, ZERO]) for name, row in POSIX_ROWS.items()),
])  # fmt: skip
def test_a_file_that_is_made_to_harm(
    given: Given,
    code: int,
    says: str,
    tmp_path: Path,
    bounded: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    ended, said = told(given(inside), inside, monkeypatch, capfd)
    assert (ended, says in said) == (code, True), said[:2000]
    assert "Traceback" not in said
    assert not list(tmp_path.rglob("climbed.log"))
