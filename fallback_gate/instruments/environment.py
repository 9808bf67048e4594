"""The annex: the environment record of a run, from a file that somebody names (`check --environment FILE`).

A JSON report of `check` or what `record --print-environment` printed; a log that `record` wrote, of which the
first line is read; or output of `nvidia-smi -q`, `npu-smi info` and their like, which name device and driver.
"""

from __future__ import annotations

import json

from fallback_gate.errors import InputError
from fallback_gate.instruments import exclusions, text
from fallback_gate.model import REPORT_SCHEMA, environment
from fallback_gate.model.environment import Environment
from fallback_gate.sources import seal


def read(path: str) -> Environment:
    """What a file tells of the machine. Raises `InputError` for one that tells nothing."""
    try:
        first = next((line for line in text.lines(path) if line.strip()), "")
        found = _told(path, first)
    except text.Unreadable as cut:
        raise InputError(f"{path}: {cut}") from None
    if not any(found):
        raise InputError(
            f"{path}: no environment record: name a JSON report of `check` that has one, a log of `record`, "
            "the output of `record --print-environment`, or of nvidia-smi -q"
        )
    return found


def _told(path: str, first: str) -> Environment:
    if first.startswith(seal.OPENING):
        header = seal.read(first.encode("utf-8", "replace"), seal.HEADER)
        return environment.read((header or {}).get("environment"), path)
    if first.lstrip().startswith("{"):
        try:
            told = json.loads(text.document(path))
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict) and told.get("schema") in (REPORT_SCHEMA, environment.SCHEMA):
            inner = told.get("environment") if told["schema"] == REPORT_SCHEMA else told
            return environment.read(inner, path)
    return exclusions.environment(exclusions.taken([path]))
