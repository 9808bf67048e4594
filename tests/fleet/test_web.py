"""Logs on a web server: in parts and whole, over connections that break, and objects that change."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import trustme

from fallback_gate import check
from fallback_gate.model import Outcome, Verdict
from fallback_gate.sources.blocks import Object
from fallback_gate.sources.remote import Remote

from .conftest import Web

SAMPLES = Path(__file__).parents[2] / "sample_logs" / "moe-decoder-h200"
BLOCKED = gzip.decompress((SAMPLES / "disabled.debug.log.gz").read_bytes())  # four fallbacks
HALF = len(BLOCKED) // 2


def facts(verdict: Verdict) -> list[tuple[object, ...]]:
    return [(f.event.op, f.event.kind, f.event.count, f.event.lines) for f in verdict.findings]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    log = tmp_path_factory.mktemp("local") / "a.log"
    log.write_bytes(BLOCKED)
    return check([log])


def test_an_object_is_read_in_parts_as_the_file(web: Web, local: Verdict) -> None:
    web.objects["/a.log"] = BLOCKED
    verdict = check([f"{web.url}/a.log"])
    assert (verdict.outcome, facts(verdict)) == (local.outcome, facts(local))
    assert verdict.logs[0].bytes == len(BLOCKED)
    assert {part for method, _, part in web.asked if method == "GET"} == {
        "bytes=0-262143",
        "bytes=262144-786431",
        "bytes=786432-1275225",
    }


def test_packed_files_and_members_of_archives_are_read(web: Web, local: Verdict) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("job/1_build.txt", BLOCKED)
        archive.writestr("padding.bin", b"\0" * 3_000_000, zipfile.ZIP_STORED)
    web.objects |= {"/a.log.gz": gzip.compress(BLOCKED), "/run.zip": packed.getvalue()}
    verdict = check([f"{web.url}/a.log.gz"])
    assert (verdict.outcome, facts(verdict)) == (local.outcome, facts(local))
    verdict = check([f"{web.url}/run.zip"])
    assert [log.path for log in verdict.logs] == [
        f"{web.url}/run.zip!/job/1_build.txt",
        f"{web.url}/run.zip!/padding.bin",
    ]
    assert facts(verdict) == facts(local)


@pytest.mark.parametrize("plain", [False, True])
def test_a_connection_that_breaks_is_made_again(web: Web, local: Verdict, plain: bool) -> None:
    web.objects["/a.log"] = BLOCKED
    web.breaks["/a.log"] = [1000, 70_000] if not plain else [HALF, HALF + 5]
    if plain:
        web.plain.add("/a.log")
    verdict = check([f"{web.url}/a.log"])
    assert (verdict.outcome, facts(verdict)) == (local.outcome, facts(local))
    assert verdict.logs[0].problem is None
    assert not web.breaks["/a.log"]


def test_one_that_breaks_each_time_leaves_the_log_unproven(web: Web) -> None:
    text = gzip.decompress((SAMPLES / "fixed.debug.log.gz").read_bytes())
    web.objects["/a.log"] = text
    assert check([f"{web.url}/a.log"], "builtin:moe-serving").outcome is Outcome.PASS
    web.always["/a.log"] = 600_000
    verdict = check([f"{web.url}/a.log"], "builtin:moe-serving")
    assert "the connection broke at byte 262,144, and 3 more tries did not help" in str(
        verdict.logs[0].problem
    )
    assert verdict.outcome is Outcome.UNPROVEN


def test_what_was_read_before_it_broke_still_blocks(web: Web) -> None:
    web.objects["/a.log"] = BLOCKED + b"\n" * 2_000_000
    web.always["/a.log"] = len(BLOCKED) + 1_000
    verdict = check([f"{web.url}/a.log"])
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.findings


@pytest.mark.parametrize("plain", [False, True])
def test_an_object_that_changes_is_noticed(web: Web, plain: bool) -> None:
    """Of the same length, so that only its tag tells."""
    web.objects["/a.log"] = BLOCKED
    web.changes["/a.log"] = 2, BLOCKED.replace(b"gate_attn", b"gate_ATTN")
    if plain:
        web.plain.add("/a.log")
    verdict = check([f"{web.url}/a.log"])
    assert verdict.logs[0].problem == "changed while it was read"
    assert not verdict.proven


def test_a_server_that_gives_no_parts_is_read_in_order(web: Web, local: Verdict) -> None:
    web.objects["/a.log"] = BLOCKED
    web.plain.add("/a.log")
    assert facts(check([f"{web.url}/a.log"])) == facts(local)


def test_an_end_that_could_be_a_broken_connection_proves_nothing(web: Web) -> None:
    web.objects["/a.log"] = BLOCKED
    web.plain.add("/a.log")
    web.endless.add("/a.log")
    verdict = check([f"{web.url}/a.log"])
    assert "the server tells no length" in str(verdict.logs[0].problem)
    assert len(verdict.findings) == 4


def test_memory_is_bounded_by_blocks(web: Web) -> None:
    web.objects["/big"] = bytes(64 << 20)
    with Object(Remote(f"{web.url}/big")) as opened:
        buffer, read = bytearray(1 << 20), 0
        while count := opened.readinto(buffer):
            read += count
            held = len(opened._block) + sum(end - opened._at for end, _ in list(opened._ahead)[-1:])
            assert held <= 4 * (8 << 20)
    assert read == 64 << 20


@pytest.mark.parametrize(("status", "why"), [(404, "no such object"), (403, "the server answers 403")])
def test_what_can_not_be_had_is_a_usage_error(web: Web, status: int, why: str) -> None:
    web.refuses["/a.log"] = status
    verdict = check([f"{web.url}/a.log?sig=abcdefghijkl"])
    assert verdict.exit_code == 2
    assert why in verdict.errors[0]
    assert "abcdefghijkl" not in verdict.errors[0]
    assert len([one for one in web.asked if one[0] == "HEAD"]) == 1


def test_a_password_is_used_and_not_shown(web: Web) -> None:
    web.objects["/a.log"] = BLOCKED
    address = web.url.replace("http://", "http://me:open-sesame@")
    verdict = check([f"{address}/a.log?token=abcdefghijkl"])
    assert verdict.outcome is Outcome.BLOCKED
    assert "Basic bWU6b3Blbi1zZXNhbWU=" in web.headers
    assert verdict.logs[0].path == f"{web.url.replace('http://', 'http://***@')}/a.log?token=***"
    assert "open-sesame" not in repr(verdict)
    assert "abcdefghijkl" not in repr(verdict)


def test_urls_that_look_alike_are_two_logs(web: Web) -> None:
    web.objects["/get"] = BLOCKED
    verdict = check([f"{web.url}/get?job=1", f"{web.url}/get?job=2", f"{web.url}/get?job=1"])
    assert [log.path for log in verdict.logs] == [f"{web.url}/get?job=***", f"{web.url}/get?job=*** (2)"]


def test_a_page_that_ends_in_a_slash_is_a_folder(web: Web) -> None:
    web.objects |= {
        "/logs/": b'<a href="../">up</a> <a href="a.log">a.log</a> <a href="b.txt">b.txt</a>',
        "/logs/a.log": BLOCKED,
        "/logs/b.txt": b"nothing\n",
    }
    assert [log.path for log in check([f"{web.url}/logs/"]).logs] == [
        f"{web.url}/logs/a.log",
        f"{web.url}/logs/b.txt",
    ]
    assert [log.path for log in check([f"{web.url}/logs/*.log"]).logs] == [f"{web.url}/logs/a.log"]


def test_https_does_not_lead_to_http(
    secure_web: Web, web: Web, authority: trustme.CA, tmp_path: Path
) -> None:
    web.objects["/a.log"] = secure_web.objects["/b.log"] = BLOCKED
    secure_web.leads |= {"/a.log": f"{web.url}/a.log", "/c.log": f"{secure_web.url}/b.log"}
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "fallback_gate",
            "check",
            f"{secure_web.url}/a.log",
            f"{secure_web.url}/c.log",
        ],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SSL_CERT_FILE": str(tmp_path / "authority.pem")},
    )
    assert done.returncode == 2
    assert "/a.log: can't be opened: the server leads on to http://" in done.stdout
    assert "gate_attn" in done.stdout  # what /c.log leads to is read


def test_a_certificate_must_be_known(secure_web: Web, authority: trustme.CA, tmp_path: Path) -> None:
    secure_web.objects["/a.log"] = BLOCKED
    command = [sys.executable, "-m", "fallback_gate", "check", "-q", f"{secure_web.url}/a.log"]
    unknown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert unknown.returncode == 2
    assert "certificate verify failed" in unknown.stdout + unknown.stderr
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    trusting = os.environ | {"SSL_CERT_FILE": str(tmp_path / "authority.pem")}
    known = subprocess.run(command, capture_output=True, text=True, check=False, env=trusting)
    assert (known.returncode, known.stderr) == (1, "")
