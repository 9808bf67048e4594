r"""Room 1: names before a line that are an envelope only where a record or another envelope follows them.

A name in brackets is taken for a branch of Jenkins, one before a bar for a container of Docker Compose, and
one before a colon for a machine of pdsh (which DeepSpeed starts) or clush, only there, unless the log
announces its branches.
"""

from __future__ import annotations

import re

from fallback_gate.patterns import GLOG
from fallback_gate.sources.envelope_forms import CLOCK, DATE, FREE, Form

_LOGGED = rf"(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d {CLOCK} \[|time={DATE}T"
_RECORD = rf'{GLOG}|\[{DATE}|Traceback \(|  File "|from user code|torch\.[\w.]+: |/\S+:\d+: |\{{"log"|'
_RECORD += re.sub(r"\?P<\w+>", "?:", "|".join(form.pattern for form in FREE))
FORMS = (
    *FREE,
    Form(
        "compose-named",  # a container with a name of its own
        r"(?!(?i:trace|debug|info|notice|success|warn|warning|error|critical|fatal)\b)"
        r"(?P<host>[A-Za-z0-9][\w.-]{0,80}) {1,60}\| (?!\d{1,5}: )"
        rf"(?={_LOGGED}|{_RECORD})",
        (
            "serve  | [rank0]:W1130 text",
            "vllm-openai      | (EngineCore_DP0 pid=165) INFO 11-30 02:16:17 [a.py:1] text",
            "vllm | WARNING 11-30 02:16:17 [a.py:1] text",
            "ollama  | time=2026-11-30T02:16:17.645Z level=INFO text",
            "engine   | 2026-11-30T02:16:17.1Z text",
        ),
        (
            "aten.mm | 24 | 5120",
            "conv | 3: text",
            "name  | [W] [TRT] text",
            "WARNING  | 2026-11-30T02:16:17.1Z text",
        ),
        needs="| ",
    ),
    Form(
        "pdsh",  # a machine by its address, or by a name with a number
        r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}"
        r"|[A-Za-z](?:[\w-]{0,62}-)?[A-Za-z]{0,40}\d[\w-]{0,40}(?:\.[\w.-]{1,100})?): "
        rf"(?={_LOGGED}|{_RECORD})",
        (
            "gpu1504: [rank8]:W1130 text",
            "104.171.201.171: V1130 00:29:06.251000 4674 torch/a.py:1] text",
            "node-7.cluster.local: [2026-11-30 02:16:17,126] text",
            "worker-1: WARNING 11-30 02:16:17 [a.py:1] text",
        ),
        ("worker-1: text", "conv2d_7: 3 text", "ValueError: [2026-11-30] text"),
        needs=": ",
    ),
    Form(
        "jenkins-branch",
        rf"\[(?P<branch>[A-Za-z][\w .:-]{{0,60}})\] (?={_RECORD})",
        (
            "[gpu tests] V1130 00:29:06.251000 4674 torch/a.py:1] text",
            '[gpu]   File "/app/a.py", line 3, in f',
            "[gpu] [rank1]: text",
        ),
        ("[LayoutInference] text", "[TRT] [W] text", "[INFO] text", "[__graph_breaks] V1130 00:29:06 text"),
        needs="] ",
    ),
)
