"""Logs in a bucket: objects, patterns, folders, archives, and an object that is written anew meanwhile."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.errors import Unreadable
from fallback_gate.model import Outcome
from fallback_gate.sources import expand
from fallback_gate.sources.blocks import Object
from fallback_gate.sources.remote import Remote

SAMPLES = Path(__file__).parents[2] / "sample_logs" / "moe-decoder-h200"
BLOCKED = gzip.decompress((SAMPLES / "disabled.debug.log.gz").read_bytes())
PASSING = gzip.decompress((SAMPLES / "fixed.debug.log.gz").read_bytes())


@pytest.fixture(scope="module")
def bucket(s3: Any) -> Any:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1_build.txt", PASSING)
        archive.writestr("2_serve.txt", BLOCKED)
    for key, data in {
        "run/rank0.log": PASSING,
        "run/rank1.log.gz": gzip.compress(BLOCKED),
        "run/deep/aten::sort [1].log": PASSING,
        "run/.hidden.log": BLOCKED,
        "zips/run.zip": packed.getvalue(),
    }.items():
        s3.put_object(Bucket="logs", Key=key, Body=data)
    return s3


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("argument", "names"),
    [
        ("s3://logs/run/rank0.log", ["s3://logs/run/rank0.log"]),
        (
            "s3://logs/run",
            [
                "s3://logs/run/deep/aten::sort [1].log",
                "s3://logs/run/rank0.log",
                "s3://logs/run/rank1.log.gz",
            ],
        ),
        ("s3://logs/run/", None),
        ("s3://logs/run/*.log", ["s3://logs/run/rank0.log"]),
        ("s3://logs/run/rank?.*", ["s3://logs/run/rank0.log", "s3://logs/run/rank1.log.gz"]),
        ("s3://logs/**/*.log", ["s3://logs/run/deep/aten::sort [1].log", "s3://logs/run/rank0.log"]),
        ("s3://logs/run/deep/aten::sort [1].log", ["s3://logs/run/deep/aten::sort [1].log"]),
        ("s3://logs/zips/*", ["s3://logs/zips/run.zip!/1_build.txt", "s3://logs/zips/run.zip!/2_serve.txt"]),
    ],
)
def test_what_an_argument_means(argument: str, names: list[str] | None) -> None:
    sources, errors = expand([argument], Path())
    assert errors == []
    assert [source.path for source in sources] == (
        names
        or ["s3://logs/run/deep/aten::sort [1].log", "s3://logs/run/rank0.log", "s3://logs/run/rank1.log.gz"]
    )


@pytest.mark.usefixtures("bucket")
def test_what_is_not_there_is_an_error() -> None:
    verdict = check(
        ["s3://logs/run/none.log", "s3://logs/run/x*", "s3://nobody/x.log", "s3://logs/run/rank0.log"]
    )
    assert verdict.exit_code == 2
    assert verdict.errors == (
        "s3://logs/run/none.log: no such object or folder",
        "s3://logs/run/x*: the pattern matches no object",
        "s3://nobody/x.log: no such object or folder",
    )
    assert verdict.processes


@pytest.mark.usefixtures("bucket")
def test_the_command_judges_a_bucket() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "fallback_gate",
            "check",
            "s3://logs/run",
            "-p",
            "builtin:moe-serving",
            "-f",
            "json",
        ],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert [(log["path"], log["verdict"]) for log in report["logs"]] == [
        ("s3://logs/run/deep/aten::sort [1].log", "pass"),
        ("s3://logs/run/rank0.log", "pass"),
        ("s3://logs/run/rank1.log.gz", "blocked"),
    ]
    assert "testing-secret-key" not in done.stdout


def to_the_end(opened: Object) -> None:
    while opened.readinto(bytearray(1 << 20)):
        pass
    opened.unchanged()


def test_an_object_that_is_written_anew_while_it_is_read(bucket: Any) -> None:
    bucket.put_object(Bucket="logs", Key="changing.log", Body=PASSING)
    with Object(Remote("s3://logs/changing.log")) as opened:
        assert opened.readinto(bytearray(1 << 20))
        bucket.put_object(Bucket="logs", Key="changing.log", Body=PASSING[::-1])
        with pytest.raises(Unreadable, match="changed while it was read"):
            to_the_end(opened)


def test_one_that_is_removed_while_it_is_read(bucket: Any) -> None:
    bucket.put_object(Bucket="logs", Key="gone.log", Body=PASSING)
    with Object(Remote("s3://logs/gone.log")) as opened:
        assert opened.readinto(bytearray(1 << 20))
        bucket.delete_object(Bucket="logs", Key="gone.log")
        with pytest.raises(Unreadable, match="removed|no such object"):
            to_the_end(opened)


@pytest.mark.usefixtures("bucket")
def test_each_report_of_a_bucket_can_be_written() -> None:
    from fallback_gate.reports import FORMATS

    verdict = check(["s3://logs/run/rank1.log.gz"], excerpts=True)
    assert verdict.outcome is Outcome.BLOCKED
    for render in FORMATS.values():
        assert render(verdict)
