r"""Room 3: what loggers of Python servers put before a message, so that a rule takes a message only where it opens.

A message stands at the start of its record; text that quotes it (a prompt, a document, a traceback) has it
further on. These prefixes may come first; timestamps and `(EngineCore_0 pid=77)` are envelopes and are gone.

| prefix | who |
| --- | --- |
| `WARNING 01-01 00:00:00 [fused_moe.py:1165] `, up to 0.7.2 `... fused_moe.py:1165] ` | vLLM |
| `[2026-01-01 00:00:00 TP0] ` | SGLang |
| `[2026-01-01 00:00:00,000] [WARNING] [torch.py:291:all_gather] ` | DeepSpeed |
| `- lmdeploy - WARNING - archs.py:41 - ` | LMDeploy, and logging's usual format |
| `[transformers] `, `[WARNING|modeling_mamba.py:12] 2026-01-01 00:00:00,000 >> ` | Transformers |
| `WARNING:vllm.model_executor:` | logging.basicConfig |
| `| WARNING  | text_generation_server.cli:serve:101 - `, ` WARN text_generation_launcher: ` | TGI |
| `/opt/x/y.py:12: UserWarning: ` | warnings.warn |
| `[2026-01-01 00:00:00,000][vllm.worker][WARNING] - `, `[WARNING] ` | formats in brackets, Hydra's among them |
| `WARNING vllm.worker: `, `WARNING - `, `00:00:00 WARNING  ` | other formats of logging, rich's among them |
| `W0101 00:00:00.000000 77 worker.py:12] ` | absl |
"""

from __future__ import annotations

_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)"
_DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?"
VLLM = rf"{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{{1,6}})? (?:\[[\w./<>-]{{1,120}}:\d{{1,6}}\]|[\w./-]{{1,120}}:\d{{1,6}}\]) "
SGLANG = rf"\[{_DATE}(?: [A-Z_]{{2,12}}\d{{1,5}}){{0,6}}\] "
_DEEPSPEED = rf"\[{_DATE}\] \[{_LEVEL}\] (?:\[[\w./:<>-]{{1,160}}\] )?"
_LOGGING = rf"(?:- )?[\w.]{{1,120}} - {_LEVEL} - (?:[\w./-]{{1,120}}:\d{{1,6}} - )?"
_BASIC = rf"{_LEVEL}:[\w.]{{1,120}}: ?"
_CLOCK = rf"\d\d:\d\d:\d\d(?:[.,]\d{{1,6}})? \[{_LEVEL}\] "
_TRANSFORMERS = rf"\[transformers\] |\[{_LEVEL}\|[\w./-]{{1,160}}:\d{{1,6}}\] {_DATE} >> "
_LOGURU = rf"\| {_LEVEL} {{0,8}}\| [\w.:<>-]{{1,200}} - | {{0,2}}{_LEVEL} {{1,2}}[\w:]{{1,80}}: "
_WARNING = r"\S{1,300}:\d{1,6}: \w{0,40}Warning: "
_FIELD = r"\[[\w .,:/<>|-]{1,160}\] ?"
_BRACKETS = rf"(?:{_FIELD}){{0,4}}\[{_LEVEL} {{0,8}}\] ?(?:{_FIELD}){{0,3}}(?:[:|>-]{{1,2}} )?"
_NAME = r"[\w./<>-]{1,120}(?::[\w.]{1,80}){0,2}"
_TIME = r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]? "
_PLAIN = rf"(?:{_TIME})?{_LEVEL}(?: {{0,8}}[:|>-]{{1,2}} | {{1,8}})(?:{_NAME} ?[:|>-]{{1,2}} )?|{_TIME}"
_ABSL = r"[DIWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,6} +\d{1,9} [\w./-]{1,120}:\d{1,6}\] "
_COMMON = "|".join(
    (_DEEPSPEED, _LOGGING, _BASIC, _CLOCK, _TRANSFORMERS, _LOGURU, _WARNING, _BRACKETS, _ABSL, _PLAIN)
)

OPENS = rf"^(?:{VLLM}|{SGLANG}|{_COMMON})?"  # a message, after any of these prefixes or none
OPENS_VLLM = rf"^(?:{VLLM}|{_COMMON})?"  # one that SGLang prints too: there it has SGLang's prefix
OPENS_SGLANG = rf"^{SGLANG}"
