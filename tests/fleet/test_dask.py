"""Logs on a Dask cluster of several processes: the same verdict, whatever becomes of the workers."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client, LocalCluster

from fallback_gate import check
from fallback_gate.errors import InputError
from fallback_gate.model import Outcome, Verdict
from fallback_gate.reading import jobs
from fallback_gate.reading.cluster import differences

from .conftest import Web

SAMPLES = Path(__file__).parents[2] / "sample_logs"
BLOCKED = gzip.decompress((SAMPLES / "moe-decoder-h200/disabled.debug.log.gz").read_bytes())
PASSING = gzip.decompress((SAMPLES / "moe-decoder-h200/fixed.debug.log.gz").read_bytes())


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(cluster: LocalCluster) -> str:
    return str(cluster.scheduler_address).replace("tcp://", "dask://")


def same(one: Verdict, other: Verdict) -> bool:
    """Compared by what is printed of each part, so that a difference is seen in the test's own message."""
    for field in fields(Verdict):
        assert repr(getattr(one, field.name)) == repr(getattr(other, field.name))
    return True


def test_all_samples_give_the_same_verdict(engine: str) -> None:
    logs = sorted(str(path) for path in SAMPLES.rglob("*.log*"))
    assert len(logs) > 50
    assert same(check(logs, engine=engine), check(logs))


@pytest.mark.parametrize("options", [{"hash_logs": True, "excerpts": True}, {"strict": True, "sealed": True}])
def test_options_are_kept(engine: str, options: dict[str, Any]) -> None:
    logs = [str(SAMPLES / "moe-decoder-h200")]
    assert same(
        check(logs, "builtin:moe-serving", engine=engine, **options),
        check(logs, "builtin:moe-serving", **options),
    )


def test_a_large_log_is_read_in_parts(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []
    whole = jobs.joined

    def watched(readings: Any, *arguments: Any) -> Any:
        joined.append(len(readings))
        return whole(readings, *arguments)

    monkeypatch.setattr(jobs, "joined", watched)
    monkeypatch.setattr(jobs, "LEAST_PART", 4 << 20)
    monkeypatch.setattr(jobs, "MOST_PART", 4 << 20)
    log = tmp_path / "big.log"
    log.write_bytes(BLOCKED * (1 + (13 << 20) // len(BLOCKED)))
    assert same(check([log], engine=engine, hash_logs=True), check([log], hash_logs=True))
    assert joined == [3]


def test_own_rules_go_along(engine: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nname: own\nrules:\n"
        "  - {id: mine/slow, compiler: mine, anchor: 'went slow for', pattern: 'went slow for (?P<op>\\w+)',\n"
        "     kind: op_fallback, scope: operator, matches: ['went slow for topk']}\n"
    )
    for rank in range(3):
        (tmp_path / f"rank{rank}.log").write_text(f"hello\nwent slow for topk\nwent slow for op{rank}\n")
    logs = [str(tmp_path / "*.log")]
    verdict = check(logs, policy, engine=engine)
    assert [(f.event.op, f.event.count) for f in verdict.findings] == [
        ("topk", 3),
        ("op0", 1),
        ("op1", 1),
        ("op2", 1),
    ]
    assert same(verdict, check(logs, policy))


def test_recorded_logs_bring_their_traces(engine: str, tmp_path: Path) -> None:
    record = [
        sys.executable,
        "-m",
        "fallback_gate",
        "record",
        "-o",
        str(tmp_path / "a.log"),
        "--",
        "echo",
        "hi",
    ]
    subprocess.run(record, capture_output=True, check=False)
    assert same(check([tmp_path], engine=engine), check([tmp_path]))


def test_what_the_workers_do_not_see_is_read_here(engine: str, tmp_path: Path) -> None:
    """Another file at the same place, as on another machine: here a named pipe's, which is nowhere else."""
    pipe = tmp_path / "pipe.log"
    os.mkfifo(pipe)
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"open({str(pipe)!r}, 'wb').write(open({str(_copy(tmp_path))!r}, 'rb').read())",
        ]
    )
    verdict = check([pipe], engine=engine)
    assert writer.wait() == 0
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.logs[0].bytes == len(BLOCKED)


def _copy(folder: Path) -> Path:
    copy = folder / "copy.log"
    copy.write_bytes(BLOCKED)
    return copy


def kill_who_asks(web: Web, path: str, times: int) -> list[int]:
    """From now on: the first so many workers that ask for a part of the object are killed."""
    killed: list[int] = []

    def asked(port: int) -> None:
        who = next((c.pid for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port), None)
        if who not in (None, os.getpid()) and len(killed) < times:
            killed.append(who)
            os.kill(who, signal.SIGKILL)

    web.calls[path] = asked
    return killed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals of POSIX")
def test_a_worker_that_is_killed_in_the_middle_is_no_loss(
    engine: str, cluster: LocalCluster, web: Web
) -> None:
    web.objects |= {f"/rank{rank}.log": BLOCKED if rank == 5 else PASSING for rank in range(8)}
    logs = [f"{web.url}/rank{rank}.log" for rank in range(8)]
    here = check(logs, "builtin:moe-serving")
    before = {worker.pid for worker in cluster.workers.values()}
    killed = kill_who_asks(web, "/rank5.log", 1)
    assert same(check(logs, "builtin:moe-serving", engine=engine), here)
    assert here.outcome is Outcome.BLOCKED
    assert len(killed) == 1
    assert killed[0] in before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals of POSIX")
def test_a_log_that_takes_every_worker_down_proves_nothing(engine: str, web: Web) -> None:
    web.objects |= {"/good.log": PASSING, "/evil.log": PASSING}
    kill_who_asks(web, "/evil.log", 100)
    verdict = check([f"{web.url}/good.log", f"{web.url}/evil.log"], "builtin:moe-serving", engine=engine)
    assert verdict.outcome is Outcome.UNPROVEN
    assert [log.outcome for log in verdict.logs] == [Outcome.PASS, Outcome.UNPROVEN]
    assert "took several workers of the cluster down" in str(verdict.logs[1].problem)


def test_a_key_of_seals_must_be_everywhere_or_nowhere(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FALLBACK_GATE_SEAL_KEY", "0123456789abcdef0123456789abcdef")
    with pytest.raises(InputError, match="is set here and not on the workers"):
        check([SAMPLES / "moe-decoder-h200"], engine=engine)


def test_a_scheduler_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fallback_gate.reading.cluster.WAIT", 1)
    with pytest.raises(InputError, match="answers at|can't be reached"):
        check([SAMPLES / "moe-decoder-h200"], engine="dask://127.0.0.1:1")


def test_other_versions_on_a_worker_are_told(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)  # one that another test ended is started again
        assert differences(client) == []
        monkeypatch.setattr("importlib.metadata.version", lambda package: "0.0.1")
        told = differences(client)
    assert len(told) == 10
    assert all(line.endswith(", and 0.0.1 here") for line in told)


def test_the_command_reads_on_a_cluster_of_its_own() -> None:
    command = [shutil.which("fallback-gate", path=Path(sys.executable).parent) or "fallback-gate", "check"]
    command += [str(SAMPLES / "moe-decoder-h200"), "-f", "json", "--today", "2026-11-30"]
    there = subprocess.run([*command, "--engine", "dask"], capture_output=True, check=False)
    here = subprocess.run(command, capture_output=True, check=False)
    assert (there.returncode, there.stdout) == (here.returncode, here.stdout)
    assert there.stderr == here.stderr == b""
