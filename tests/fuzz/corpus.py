"""Fuzzing: the seeds: what real compilers and tools printed, and the lines that each rule is declared with.

A log is a seed of each family whose compilers speak in it. `FALLBACK_GATE_FUZZ_LOGS` names folders with more.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import safetensors.numpy
import zstandard

from fallback_gate.compilers import MODULES, READERS, index
from fallback_gate.model.history import Baseline
from fallback_gate.reports import FORMATS
from fallback_gate.reports.baseline_file import render as render_baseline
from fallback_gate.verdict.baseline import held
from tests.fuzz.judging import judged
from tests.fuzz.mutate import LARGEST

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ROOT / "sample_logs"
FAMILIES = tuple(dict.fromkeys(module.partition(".")[0] for module in MODULES))
WINDOW = 16 << 10  # bytes of a seed: small ones are tried more often
MORE = [Path(folder) for folder in os.environ.get("FALLBACK_GATE_FUZZ_LOGS", "").split(os.pathsep) if folder]


def content(path: Path) -> bytes:
    """A file out of its compression."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def files(folder: Path, *endings: str) -> Iterator[Path]:
    """The files below a folder with these endings, packed or not."""
    for path in sorted(folder.rglob("*")):
        if path.name.removesuffix(".gz").endswith(endings) and path.is_file():
            yield path


def windows(data: bytes) -> list[bytes]:
    """A text as it is, or its start and its end where it is large."""
    if len(data) <= WINDOW:
        return [data]
    head, tail = data[: WINDOW // 2], data[-WINDOW // 2 :]
    return [head[: head.rfind(b"\n") + 1] + tail[tail.find(b"\n") + 1 :]]


@cache
def logs() -> dict[str, tuple[bytes, ...]]:
    """The logs by family; the examples of its rules and markers are one log more."""
    found: dict[str, list[bytes]] = {family: [_examples(family)] for family in FAMILIES}
    for folder in (SAMPLES, *MORE):
        for path in files(folder, ".log", ".txt"):
            for text in windows(content(path)):
                spoke = {proof.name for one in judged(text).processes for proof in one.compilers}
                for family in {_family(name) for name in spoke if name in index.PLACES}:
                    found[family].append(text)
    return {family: tuple(dict.fromkeys(texts)) for family, texts in found.items()}


def _family(name: str) -> str:
    return index.PLACES[name][0].partition(".")[0]


def _examples(family: str) -> bytes:
    named = [reader for name, reader in READERS.items() if _family(name) == family]
    entries = [entry for reader in named for entry in reader.entries]
    return "\n".join(line for one in entries for line in (*one.matches, *one.ignores)).encode()


@cache
def traces() -> tuple[bytes, ...]:
    """Structured traces of torch.compile."""
    return tuple(
        text
        for path in files(SAMPLES, ".log")
        if path.parent.suffix == ".traces"
        for text in windows(content(path))
    )


@cache
def policies() -> tuple[bytes, ...]:
    """Policies, a waiver, a baseline: all that a user writes."""
    found = [path.read_bytes() for path in files(ROOT / "policies", ".yaml")]
    found += [path.read_bytes() for path in files(ROOT / "examples", ".yaml", ".yml")]
    found.append(
        b"version: 1\nname: all\nextends: [builtin:strict]\nunlisted: warn\nhot:\n  - op: gate_attn\n    why: hot\n"
        b"unhot:\n  - {op: x, reason: r, owner: o, expires: 2027-03-31}\ncold:\n  - &c {op: 'aten::sort*', kinds: "
        b"[op_fallback], reason: r, owner: o, expires: 2027-03-31, ticket: I-1, max_count: 2}\n  - {<<: *c, op: y}\n"
        b"budgets: {graph_break: 0, events: 3}\nproof: {required: [graph_break], accept_unobservable: []}\n"
        b"expect: {compilers: [torch.compile], ranks: 8}\nlogs: ['*.log']\nrules:\n  - {id: a/b, compiler: a, anchor: "
        b"slow op, pattern: 'slow op (?P<op>\\w+)', kind: op_fallback, scope: operator, matches: [slow op x]}\n"
    )
    found.append(b"release: '1'\nwho: me\nwhy: because\nexpires: 2027-03-31\nevents: [abc, def]\n")
    log = next(text for text in logs()["torch"] if judged(text).findings)
    found.append(FORMATS["json"](judged(log)).encode())
    found.append(
        render_baseline(Baseline("b", tuple(held(judged(log).findings)), "1", judged(log).policy)).encode()
    )
    return tuple(found)


@cache
def instruments() -> tuple[bytes, ...]:
    """Kernel traces, counters, benchmarks."""
    found = [
        text
        for path in files(ROOT / "tests" / "data" / "instruments", ".csv")
        for text in windows(content(path))
    ]
    for path in files(ROOT / "sample_traces", ".json"):
        found += [_few_events(content(path), step) for step in (1, 3, 7)]
    for folder in MORE:
        found += [text for path in files(folder, ".csv", ".json") for text in windows(content(path))]
    found += [sample.encode() for sample in _BENCHES]
    return tuple(found)


def _few_events(whole: bytes, step: int) -> bytes:
    """A kernel trace with some of its events: the metadata, and of each category a few."""
    trace, few = json.loads(whole), Counter[str]()
    kept = []
    for event in trace["traceEvents"][::step]:
        kind = f"{event.get('ph')} {event.get('cat')}"
        few[kind] += 1
        if few[kind] <= 6:
            kept.append(event)
    return json.dumps({**trace, "traceEvents": kept}).encode()[:LARGEST]


_BENCHES = (
    '{"median_ttft_ms": 21.5, "median_tpot_ms": 7.1, "output_throughput": 900.5, "total_input_tokens": 1024, '
    '"completed": 10, "duration": 3.5, "model_id": "m", "num_prompts": 10, "backend": "vllm", "failed": 0}',
    '{"time_to_first_token": {"unit": "ms", "avg": 3.1, "p50": 3.0}, "inter_token_latency": {"unit": "ms", "avg": 1, '
    '"p50": 1}, "output_token_throughput": {"unit": "tokens/sec", "avg": 99}}',
    '[{"n_prompt": 512, "n_gen": 0, "avg_ts": 900.1, "model_type": "m", "samples_ts": [1, 2]}, {"n_prompt": 0, '
    '"n_gen": 128, "avg_ts": 90.1, "samples_ts": [1]}]',
    "case,run,prefill_tokens_per_second,decode_tokens_per_second\na,1,10,20\na,2,11,21\nb,1,1e3,2e3\n",
    "# TYPE DCGM_FI_PROF_PIPE_TENSOR_ACTIVE gauge\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\",device=\"nvidia0\"} 0.5\n"
    'DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",device="nvidia0"} 0.7\n',
    "# Entity  GRACT  TENSO  DRAMA\n  ID\nGPU 0  0.9  0.1  0.8\nGPU 0  0.9  N/A  0.8\n",
    "Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Counter_Name,Counter_Value\n"
    "1,1,1,k,10,90,MfmaUtil,5\n1,1,1,k,10,90,FETCH_SIZE,7\n1,1,1,k,10,90,WRITE_SIZE,7\n",
    "Op Name,OP Type,Task Type,Task Duration(us),aic_mac_ratio,aic_mte2_ratio\nx,MatMul,AI_CORE,3.5,0.5,0.4\n",
)  # fmt: skip


@cache
def tensors() -> tuple[bytes, ...]:
    """npy, npz and safetensors of a few numbers."""
    some = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.zeros((0, 2)),
        "c": np.array(7, np.int8),
    }
    found = [safetensors.numpy.save(some)]
    for save in (lambda file: np.save(file, some["a"]), lambda file: np.savez_compressed(file, **some)):
        file = io.BytesIO()
        save(file)
        found.append(file.getvalue())
    return tuple(found)


@cache
def archives() -> tuple[bytes, ...]:
    """Logs in each packing, and archives of several; small, so that a flipped byte meets the structure."""
    small = sorted((log for some in logs().values() for log in some), key=len)[:8]
    found = []
    for text in small:
        text = text[:3000]
        found += [gzip.compress(text), lzma.compress(text), zstandard.compress(text)]
        found += [bz2.compress(text), lzma.compress(text, format=lzma.FORMAT_ALONE)]
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as archive:
            for at, text in enumerate(small[:3]):
                archive.writestr(f"run/{at}_build.txt", text[:2000])
            archive.comment = b"by a CI system"
        found.append(packed.getvalue())
    found += [
        gzip.compress(small[0]) + gzip.compress(small[1]),
        text.decode("utf-8", "replace").encode("utf-16"),
    ]
    return tuple(found)
