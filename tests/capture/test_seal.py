"""A recorded log passes as it is, and in no other form: not cut, not with a line less, not with a byte changed."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import zipfile
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome, Verdict
from tests.capture.recording import CLEAN, PRINT_CLEAN, record, run


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of a clean compile, as it was recorded."""
    folder = tmp_path_factory.mktemp("sealed")
    done = record(folder, PRINT_CLEAN)
    assert done.returncode == 0, done.stderr
    return (folder / "compile.log").read_bytes()


def judged(folder: Path, data: bytes, **environ: str) -> Verdict:
    """The verdict on a log with these bytes, by the strict rule."""
    folder.joinpath(".git").mkdir(exist_ok=True)
    log = folder / "compile.log"
    log.write_bytes(data)
    return check([log], cwd=folder, environ=environ)


def test_as_it_was_recorded_it_passes(sealed: bytes, tmp_path: Path) -> None:
    verdict = judged(tmp_path, sealed)
    assert verdict.outcome is Outcome.PASS
    assert verdict.logs[0].sealed
    assert verdict.logs[0].lines == CLEAN.read_bytes().count(b"\n") + 2
    assert verdict.logs[0].sha256 == hashlib.sha256(sealed).hexdigest()


def test_the_body_is_what_the_command_printed(sealed: bytes) -> None:
    first, rest = sealed.split(b"\n", 1)
    body, last = rest[:-1].rsplit(b"\n", 1)
    header, trailer = json.loads(first), json.loads(last)
    assert body + b"\n" == CLEAN.read_bytes()
    assert header["fallback_gate_header"] == 1
    assert (trailer["exit_status"], trailer["signal"], trailer["left_open"]) == (0, None, False)
    assert (trailer["lines"], trailer["bytes"]) == (body.count(b"\n") + 1, len(body) + 1)
    without_the_hash = sealed[: -len('"}\n') - 64]
    assert trailer["fallback_gate_sha256"] == hashlib.sha256(without_the_hash).hexdigest()


def test_a_cut_anywhere_never_passes(sealed: bytes, tmp_path: Path) -> None:
    for at in random.Random(5).sample(range(len(sealed)), 60):
        verdict = judged(tmp_path, sealed[:at])
        assert verdict.outcome is Outcome.UNPROVEN, at
        assert not verdict.logs[0].sealed


def test_the_front_cut_off_never_passes(sealed: bytes, tmp_path: Path) -> None:
    for at in random.Random(6).sample(range(1, len(sealed) - 200), 20):
        assert judged(tmp_path, sealed[at:]).outcome is Outcome.UNPROVEN, at


def test_without_any_one_line_it_never_passes(sealed: bytes, tmp_path: Path) -> None:
    lines = sealed.splitlines(keepends=True)
    for at in range(len(lines)):
        verdict = judged(tmp_path, b"".join(lines[:at] + lines[at + 1 :]))
        assert verdict.outcome in (Outcome.UNPROVEN, Outcome.BLOCKED), lines[at]
        assert "seal is broken" in (verdict.logs[0].problem or "")


def test_with_any_byte_changed_it_never_passes(sealed: bytes, tmp_path: Path) -> None:
    rng = random.Random(7)
    ends = [
        *range(40),
        *range(len(sealed) - 120, len(sealed)),
    ]  # what opens the header, what ends the trailer
    for at in rng.sample(range(len(sealed)), 40) + rng.sample(ends, 40):
        changed = bytearray(sealed)
        changed[at] ^= 1 << rng.randrange(8)
        assert judged(tmp_path, bytes(changed)).outcome is Outcome.UNPROVEN, at


def test_a_line_more_or_two_lines_swapped_never_passes(sealed: bytes, tmp_path: Path) -> None:
    lines = sealed.splitlines(keepends=True)
    swapped = [lines[0], lines[2], lines[1], *lines[3:]]
    for data in (sealed + b"\n", sealed + b"done\n", b"\n" + sealed, b"".join(swapped), sealed + sealed):
        assert judged(tmp_path, data).outcome is Outcome.UNPROVEN


def test_it_is_verified_inside_gzip_and_zip(sealed: bytes, tmp_path: Path) -> None:
    packed = judged(tmp_path, gzip.compress(sealed))
    assert packed.outcome is Outcome.PASS
    assert packed.logs[0].sealed
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        archive.writestr("logs/compile.log", sealed)
        archive.writestr("logs/cut.log", sealed[:-1])
    whole = check([tmp_path / "run.zip"], cwd=tmp_path, environ={})
    assert [log.sealed for log in whole.logs] == [True, False]
    assert whole.outcome is Outcome.UNPROVEN


@pytest.mark.parametrize(
    "prefix",
    [b"2026-11-30T05:18:00.1234567Z ", b"[rank0]: ", b"2026-11-30T05:18:00.123456789Z stdout F "],
)
def test_an_envelope_around_it_breaks_the_seal(sealed: bytes, prefix: bytes, tmp_path: Path) -> None:
    wrapped = b"".join(prefix + line for line in sealed.splitlines(keepends=True))
    verdict = judged(tmp_path, wrapped)
    assert verdict.outcome is Outcome.UNPROVEN
    assert "give the file that `record` wrote" in (verdict.logs[0].problem or "")


def test_docker_s_json_around_it_breaks_the_seal(sealed: bytes, tmp_path: Path) -> None:
    lines = sealed.decode().splitlines(keepends=True)
    wrapped = "".join(json.dumps({"log": line, "stream": "stdout"}) + "\n" for line in lines)
    assert judged(tmp_path, wrapped.encode()).outcome is Outcome.UNPROVEN


@pytest.mark.parametrize("prefix", [b"", b"2026-11-30T05:18:00.1234567Z ", b"[rank0]: "])
def test_shown_within_another_log_it_is_no_proof(sealed: bytes, prefix: bytes, tmp_path: Path) -> None:
    lines = [b"Run cat compile.log\n", *sealed.splitlines(keepends=True), b"done\n", b"done\n"]
    verdict = judged(tmp_path, b"".join(prefix + line for line in lines))
    assert verdict.outcome is Outcome.UNPROVEN
    assert "stands within this one" in (verdict.logs[0].problem or "")


def test_carriage_returns_put_in_break_the_seal(sealed: bytes, tmp_path: Path) -> None:
    assert judged(tmp_path, sealed.replace(b"\n", b"\r\n")).outcome is Outcome.UNPROVEN


def test_with_a_key_it_is_verified_by_that_key_alone(tmp_path: Path) -> None:
    key = "correct horse battery staple"
    seen = "import os; print('KEY' if 'FALLBACK_GATE_SEAL_KEY' in os.environ else 'none'); " + PRINT_CLEAN
    done = record(tmp_path, seen, variables={"FALLBACK_GATE_SEAL_KEY": key})
    assert done.stdout.startswith(b"none")
    data = (tmp_path / "compile.log").read_bytes()
    assert key.encode() not in data
    assert judged(tmp_path, data, FALLBACK_GATE_SEAL_KEY=key).outcome is Outcome.PASS
    without = judged(tmp_path, data)
    assert without.outcome is Outcome.UNPROVEN
    assert "FALLBACK_GATE_SEAL_KEY" in (without.logs[0].problem or "")
    assert judged(tmp_path, data, FALLBACK_GATE_SEAL_KEY="another").outcome is Outcome.UNPROVEN


def test_a_seal_without_a_key_is_none_where_a_key_is_asked_for(sealed: bytes, tmp_path: Path) -> None:
    assert judged(tmp_path, sealed, FALLBACK_GATE_SEAL_KEY="k").outcome is Outcome.UNPROVEN


def test_a_trailer_that_the_command_wrote_itself_is_none(sealed: bytes, tmp_path: Path) -> None:
    """The recorder died, and the command printed a trailer with the right hash as its last line."""
    body, last = sealed[:-1].rsplit(b"\n", 1)
    trailer = json.loads(last)
    trailer["secret"] = "0" * 32
    del trailer["fallback_gate_sha256"]
    opened = json.dumps(trailer)[:-1].encode() + b', "fallback_gate_sha256": "'
    digest = hashlib.sha256(body + b"\n" + opened).hexdigest().encode()
    verdict = judged(tmp_path, body + b"\n" + opened + digest + b'"}\n')
    assert verdict.outcome is Outcome.UNPROVEN
    assert "not written by the recorder" in (verdict.logs[0].problem or "")


def test_headers_and_trailers_in_the_output_change_nothing(sealed: bytes, tmp_path: Path) -> None:
    (tmp_path / "inner.log").write_bytes(sealed)
    done = record(tmp_path, "import sys; sys.stdout.buffer.write(open('inner.log', 'rb').read())")
    assert done.returncode == 0
    verdict = check([tmp_path / "compile.log"], cwd=tmp_path, environ={})
    assert verdict.logs[0].sealed
    assert verdict.outcome is Outcome.PASS


def test_words_of_the_header_are_no_event(tmp_path: Path) -> None:
    record(tmp_path, PRINT_CLEAN + "; 'fallback to eager: op=gate_attn'")
    verdict = check([tmp_path / "compile.log"], cwd=tmp_path, environ={}, strict=True)
    assert b"op=gate_attn" in (tmp_path / "compile.log").read_bytes()
    assert verdict.outcome is Outcome.PASS
    assert not verdict.findings


def test_a_command_that_failed_never_passes(tmp_path: Path) -> None:
    done = record(tmp_path, PRINT_CLEAN + "; sys.exit(9)")
    assert done.returncode == 9
    verdict = check([tmp_path / "compile.log"], cwd=tmp_path, environ={})
    assert verdict.outcome is Outcome.UNPROVEN
    assert verdict.logs[0].sealed
    assert "exit status 9" in (verdict.logs[0].problem or "")


def test_sealed_is_asked_for(sealed: bytes, tmp_path: Path) -> None:
    (tmp_path / "sealed.log").write_bytes(sealed)
    (tmp_path / "plain.log").write_bytes(CLEAN.read_bytes())
    assert run(tmp_path, "check", "plain.log").returncode == 0
    assert run(tmp_path, "check", "--sealed", "sealed.log").returncode == 0
    refused = run(tmp_path, "check", "--sealed", "plain.log")
    assert refused.returncode == 3
    assert b"plain.log: not a sealed log" in refused.stdout
