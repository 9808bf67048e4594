"""Room 1: what is refused as no log, and what only looks like it."""

from __future__ import annotations

import pickle
import random
import sqlite3
import sys
from pathlib import Path

import pytest

RANDOM = random.Random(20).randbytes
WEIGHTS = b'{"w":{"dtype":"F32","shape":[64],"data_offsets":[0,256]}}'


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        (Path(sys.executable).read_bytes()[:100_000], "an executable"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "an executable"),
        (b"MZ\x90\0\x03\0\0\0" + bytes(60), "an executable"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "an image"),
        (pickle.dumps({"state": [1.0] * 100}, protocol=4), "a pickle"),
        (pickle.dumps({"state": [1.0] * 100}, protocol=2), "a pickle"),
        (len(WEIGHTS).to_bytes(8, "little") + WEIGHTS + RANDOM(256), "a safetensors file"),
        (b"\x93NUMPY\x01\0v\0{'descr': '<f4'}", "a NumPy array"),
        (b"run/log.txt".ljust(257, b"\0") + b"ustar\x0000" + bytes(247), "a tar archive"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive"),
        (RANDOM(100_000), "control characters"),
        (bytes(100_000), "nothing but NULs in its first 65,536 bytes"),
    ],
)
def test_refused(decode, stored, why):
    text, problem = decode(stored)
    assert text == b""
    assert problem.startswith("binary data, not a log")
    assert why in problem


def test_a_database_is_refused(decode, tmp_path):
    with sqlite3.connect(tmp_path / "run.db") as database:
        database.execute("create table t (x)")
    database.close()
    assert "an SQLite database" in decode((tmp_path / "run.db").read_bytes())[1]


@pytest.mark.parametrize(
    "stored",
    [
        b"rank 0 " + bytes(1_400) + b"\nnext line\n",
        b"\x1b[32mINFO compiling\x1b[0m\n" * 100,
        b"12%|##\b\b\b\b50%|####\r100%\n" * 100,
        "日志 ログ журнал\n".encode("gbk", "replace") * 50,
        b"\x80\xff\xfe garbage at the start\n",
        b"a few controls \x01\x02\x03\n",
        b"\x01\0\0\0\0\0\0\x60" + b"x" * 95 + b"\n",
        b"MZ marks the spot\n",
        b'12345678{"json": 1}\n',
        b"",
    ],
)
def test_a_dirty_log_is_a_log(decode, stored):
    assert decode(stored) == (stored, "")


def test_only_the_start_is_judged(decode):
    stored = b"a line of a log\n" * 5_000 + RANDOM(50_000)
    assert decode(stored) == (stored, "")
