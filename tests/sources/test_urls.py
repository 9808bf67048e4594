"""Room 1: URLs: which are read, what people see of them, and what a missing package says."""

from __future__ import annotations

import gzip
import io
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate import check
from fallback_gate.errors import Unreadable
from fallback_gate.sources import expand
from fallback_gate.sources.blocks import Object
from fallback_gate.sources.names import is_url
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.urls import masked, refusal, told

fsspec = pytest.importorskip("fsspec")

SAMPLE = Path(__file__).parents[2] / "sample_logs/moe-decoder-h200/disabled.debug.log.gz"


@pytest.mark.parametrize(
    ("argument", "yes"),
    [
        ("s3://bucket/a.log", True),
        ("HTTPS://host/a.log", True),
        ("abfss://box@account.dfs.core.windows.net/a", True),
        ("foo+bar://x", True),
        ("C://logs/a.log", False),
        ("C:\\logs\\a.log", False),
        ("build/a.log", False),
        ("://x", False),
        ("a b://x", False),
        ("logs/a://b", False),
    ],
)
def test_what_is_a_url(argument: str, yes: bool) -> None:
    assert is_url(argument) is yes


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("s3://bucket/a@b.log", "s3://bucket/a@b.log"),
        ("https://host/a.log", "https://host/a.log"),
        ("https://me:pw@host:8080/a.log", "https://***@host:8080/a.log"),
        ("https://token@host/a.log", "https://***@host/a.log"),
        ("https://me:p@ss:w@host/a@b.log", "https://***@host/a@b.log"),
        ("https://host/a?X-Amz-Signature=abc&n=1", "https://host/a?X-Amz-Signature=***&n=***"),
        ("https://host/a?secretvalue", "https://host/a?***"),
        ("https://host/a?sig=a=b&x=#part", "https://host/a?sig=***&x=#part"),
        ("abfs://box@account.dfs.core.windows.net/a.log", "abfs://box@account.dfs.core.windows.net/a.log"),
        ("az://box/a.log?sv=1&sig=abc", "az://box/a.log?sv=***&sig=***"),
        ("s3://bucket/what?.log", "s3://bucket/what?.log"),
        ("hf://datasets/me/logs@main/a.log", "hf://datasets/me/logs@main/a.log"),
    ],
)
def test_credentials_in_a_url_are_masked(url: str, seen: str) -> None:
    assert masked(url) == seen
    assert str(Remote(url)) == repr(Remote(url)) == seen


_WORD = st.text("abcdefghXYZ0123456789-._~", min_size=6, max_size=20)


@given(user=_WORD, password=_WORD, value=_WORD)
def test_no_credential_of_a_url_is_ever_shown(user: str, password: str, value: str) -> None:
    url = f"https://{user}:Q{password}@host.example/a.log?name=Q{value}"
    error = OSError(f"401, message='no', url='{url}' for Q{password} with Q{value}")
    for text in (masked(url), told(error, url)):
        assert f"Q{password}" not in text
        assert f"Q{value}" not in text


def test_a_credential_of_the_environment_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMIK7MDENG")
    assert told(OSError("key wJalrXUtnFEMIK7MDENG is wrong"), "s3://b/x") == "key *** is wrong"


def test_a_message_is_one_line_of_bounded_length() -> None:
    assert told(OSError("first\nsecond"), "s3://b/x") == "first"
    assert len(told(OSError("x" * 10_000), "s3://b/x")) == 300
    assert told(OSError(), "s3://b/x") == "OSError"


@pytest.mark.parametrize(
    ("url", "extra"),
    [
        ("s3://b/x", "s3"),
        ("gs://b/x", "gs"),
        ("az://b/x", "az"),
        ("abfs://b@a.dfs.core.windows.net/x", "az"),
        ("https://host/x", "http"),
        ("hf://datasets/a/b/x", "hf"),
    ],
)
def test_a_missing_package_names_the_install_command(
    url: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fallback_gate.sources.urls.find_spec", lambda name: None)
    sources, errors = expand([url], tmp_path)
    assert sources == []
    assert errors == [
        f"{url}: {url.partition(':')[0]}:// needs packages that are not installed: "
        f"pip install 'fallback-gate[{extra}]'"
    ]


def test_other_urls_are_usage_errors(tmp_path: Path) -> None:
    assert expand(["ftp://host/x", "http://example.com/x", "file:///etc/hosts"], tmp_path)[1] == [
        "ftp://host/x: ftp:// is not read: s3://, gs://, az://, https:// and hf:// are, and files by their path",
        "http://example.com/x: http:// is read from this machine only, since anyone on the way could change "
        "the log: https://",
        "file:///etc/hosts: file:// is not read: s3://, gs://, az://, https:// and hf:// are, and files by their path",
    ]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:80", "me:pw@127.0.0.5"])
def test_plain_http_is_for_this_machine(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fallback_gate.sources.urls.find_spec", lambda name: object())
    assert refusal(f"http://{host}/x") is None


@pytest.mark.parametrize(
    "host", ["127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example", ""]
)
def test_and_for_no_other(host: str) -> None:
    assert "this machine only" in str(refusal(f"http://{host}/x"))


@pytest.fixture
def store() -> object:
    """A store in memory."""
    store = fsspec.filesystem("memory")
    text = gzip.decompress(SAMPLE.read_bytes())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("1_build.txt", text)
    for name, data in {
        "/run/a.log": text,
        "/run/b/c [1].log.gz": gzip.compress(text),
        "/run/b/.hidden.log": text,
        "/run.zip": packed.getvalue(),
    }.items():
        store.pipe(name, data)
    yield store
    store.rm("/", recursive=True)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("argument", "names"),
    [
        ("memory://run/a.log", ["memory://run/a.log"]),
        ("memory://run", ["memory://run/a.log", "memory://run/b/c [1].log.gz"]),
        ("memory://run/*", ["memory://run/a.log", "memory://run/b/c [1].log.gz"]),
        ("memory://run/*.log", ["memory://run/a.log"]),
        ("memory://run/**/*.gz", ["memory://run/b/c [1].log.gz"]),
        ("memory://run/b/.h*", ["memory://run/b/.hidden.log"]),
        ("memory://run/b/c [1].log.gz", ["memory://run/b/c [1].log.gz"]),
        ("memory://run.zip", ["memory://run.zip!/1_build.txt"]),
    ],
)
def test_a_url_of_objects_folders_patterns_and_archives(
    argument: str, names: list[str], tmp_path: Path
) -> None:
    sources, errors = expand([argument, argument], tmp_path)
    assert errors == []
    assert [source.path for source in sources] == names
    elsewhere = [pickle.loads(pickle.dumps(source)) for source in sources]
    assert [(source.path, source.key, source.size) for source in elsewhere] == [
        (source.path, source.key, source.size) for source in sources
    ]


@pytest.mark.usefixtures("store")
def test_each_form_gives_the_verdict_of_the_file() -> None:
    here = check([SAMPLE])
    for url in ("memory://run/a.log", "memory://run/b/c [1].log.gz", "memory://run.zip"):
        there = check([url])
        assert there.outcome is here.outcome
        assert [(f.event.op, f.event.count, f.event.lines) for f in there.findings] == [
            (f.event.op, f.event.count, f.event.lines) for f in here.findings
        ]


def test_what_is_not_there(store: object, tmp_path: Path) -> None:
    assert expand(["memory://none.log", "memory://run/x*"], tmp_path) == (
        [],
        ["memory://none.log: no such object or folder", "memory://run/x*: the pattern matches no object"],
    )


@pytest.mark.parametrize("change", ["pipe", "rm"])
def test_an_object_that_changes_proves_nothing(store: object, change: str) -> None:
    with Object(Remote("memory://run/a.log")) as opened:
        while opened.readinto(bytearray(1 << 20)):
            pass
        if change == "rm":
            store.rm("/run/a.log")
        else:
            store.pipe("/run/a.log", store.cat("/run/a.log")[::-1])
        with pytest.raises(Unreadable, match="(changed|was removed) while it was read"):
            opened.unchanged()


@settings(deadline=None)
@given(data=st.data())
def test_an_object_is_a_file(data: st.DataObject) -> None:
    """Whatever is read and sought, in whichever order: as of a file in memory."""
    store = fsspec.filesystem("memory")
    text = bytes(range(251)) * 4000
    store.pipe("/file", text)
    file = io.BytesIO(text)
    with Object(Remote("memory://file")) as opened:
        for _ in range(data.draw(st.integers(1, 8))):
            if data.draw(st.booleans()):
                place = data.draw(st.integers(0, len(text) + 10))
                assert opened.seek(place) == file.seek(place)
            size = data.draw(st.integers(0, 600_000))
            assert opened.read(size) == file.read(size)
            assert opened.tell() == file.tell()


def test_nothing_for_urls_is_imported_without_one() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from fallback_gate import check; check([{str(SAMPLE)!r}]); import sys; print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "fallback_gate.sources.remote" in loaded
    assert {
        "fsspec",
        "aiohttp",
        "asyncio",
        "distributed",
        "fallback_gate.sources.urls",
        "fallback_gate.reading.cluster",
    }.isdisjoint(loaded)
