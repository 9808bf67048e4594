r"""Room 1: the envelopes that a line may come in, one declaration each. `envelope_names` has two more.

A form is a pattern at the start of a line, with the lines that it must and must not match. Its named groups
are the facts that it tells: `rank`, `local` (a rank on one host), `host` (a machine, pod or container),
`branch` (of a parallel build) and `who` (anything else that tells one writer from another). What stands
inside may be in an envelope again.

Sources of the formats: the documentation and output of GitHub's and GitLab's runners, Azure Pipelines,
Jenkins' Timestamper and Pipeline, the Buildkite agent, `docker logs -t`, Docker Compose 1 and 2, Kubernetes'
Container Runtime Interface and `kubectl logs --prefix`, systemd's `journalctl --output=short*`, RFC 3164 and
RFC 5424, `gh run view --log`, Airflow, torchrun, torch.distributed, Open MPI's `--tag-output`, Slurm's
`srun --label`, Ray, vLLM, `ts` of moreutils, stern, pytest's lines of an exception, rsyslog's and cat's
spelling of control characters, SkyPilot, `gcloud ai custom-jobs stream-logs`, `aws logs tail`, Android's
`logcat -v threadtime|brief|time`, PowerShell 5 and tqdm.
"""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """One envelope. A pattern that is slow to fail `needs` a text that each of its lines holds."""

    name: str
    pattern: str
    matches: tuple[str, ...]
    ignores: tuple[str, ...] = ()
    needs: str = ""


DATE = r"\d{4}-\d\d-\d\d"
CLOCK = r"\d\d:\d\d:\d\d"
_TIME = rf"{DATE}[T ]{CLOCK}(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_HOST = r"(?P<host>[A-Za-z0-9][\w.-]{0,252})"
_PROGRAM = r"[\w./@+-]{1,128}"
_CHUNK = r"[\d.]+[kMGTP]?"
_ESC = r"(?:#033|\^\[)?"  # an escape character that is spelled out, or lost
# What compilers and loggers themselves put in brackets at the start of a line: no branch.
_OWN = (
    r"(?:(?:[A-Z]|TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL"
    r"|trace|debug|info|notice|warn|warning|error|critical|fatal"
    r"|AUTO|Autotuner|BreakGraph|Cache|CoreML|CPU|EXECUTOR RUN|GPU|NPU|IsEnoughWorkspace|LayoutInference"
    r"|LpaiPartitionFallbackSupport|Neuropilot Backend|ONNXRuntimeError|Python Z3 Loop|QnnPartitioner"
    r"|Translate Executor \d+|Vulkan Partitioner|WS|aiter|cudnn_frontend|eval_frame_callback|fused_moe"
    r"|select_algorithm|top_k validator|transformers|Vitis AI EP)\]"
    r"|(?:TRT|TensorRT|OpenVINO|MIGraphX|MIOpen|PID|Pipeline)\b|__|[VDIWEC] |[VDIWEC]\d{4} )"
)

# Behind Jenkins' time stamp, a name in brackets that no compiler writes is a branch or a program's prefix.
STAMPED_NAME = rf"\[(?!{_OWN})[A-Za-z][\w .-]{{0,60}}\] "

FREE = (
    Form(
        "kubernetes",
        _TIME + r" (?P<who>std(?:out|err)) [FP](?::\S+)? ",
        ("2026-11-29T12:00:00.000339563Z stderr F text", "2026-11-29T12:00:00.1+01:00 stdout P text"),
        ("stderr F text",),
    ),
    Form(
        "gitlab",
        _TIME + r" (?P<who>\d\d[OE])(?:[ +]|$)",
        ("2026-11-29T12:00:00.000339Z 00O text", "2026-11-29T12:00:00.000339Z 01E+text"),
        ("00O text",),
    ),
    Form(
        "gitlab-section",
        r"section_(?:start|end):\d+:[\w.-]+(?:\[[^\]\r]*\])?\r?",
        ("section_start:1795953600:build\rtext", "section_end:1795953600:build[collapsed=true]\rtext"),
        ("section_start: text",),
    ),
    Form(
        "syslog-iso",
        rf"{DATE}[T ]{CLOCK}(?:\.\d{{3}}|\.\d{{6}})?(?:Z|[+-]\d\d:?\d\d) {_HOST} "
        rf"(?P<who>{_PROGRAM}\[\d+\]): ",
        (
            "2026-11-30T02:16:17+0000 gpu-node-7 python[4711]: text",
            "2026-11-30T02:16:17.123456+01:00 node serve.sh[1]: text",
        ),
        ("gpu-node-7 python[4711]: text",),
    ),
    Form(
        "timestamp",
        _TIME + r"(?: |$)",
        ("2026-11-29T12:00:00.0005305Z text", "2026-11-29T12:00:00.000339563Z text"),
        ("2026-11-29 text",),
    ),
    Form(
        "bracketed-timestamp",
        rf"\[{DATE}T{CLOCK}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)\](?: |$)",
        ("[2026-11-29T12:00:00.123Z] text",),
        ("[2023-10-04 16:27:06,745] torch._inductor.graph: [INFO] text",),
    ),
    Form(
        "syslog",
        rf"(?:<\d{{1,3}}>)?{_MONTH} [ \d]\d {CLOCK}(?:\.\d{{3,6}})? {_HOST} "
        rf"(?P<who>{_PROGRAM}(?:\[\d+\])?): ",
        (
            "Nov 30 02:16:17 gpu-node-7 python[4711]: text",
            "Nov  3 02:16:17.123456 gpu-node-7 serve.sh[4711]: text",
            "<13>Nov 30 02:16:17 node7 trainer: text",
        ),
        ("Nov 30 text: more",),
    ),
    Form(
        "syslog-other-language",  # the month as journalctl writes it outside English
        rf"(?:\d{{1,2}}[月월]|[^\W\d_]{{2,5}}\.?) [ \d]\d {CLOCK}(?:\.\d{{3,6}})? {_HOST} "
        rf"(?P<who>{_PROGRAM}\[\d+\]): ",
        (
            "авг 18 14:14:46 gpu-node-7 python3[4711]: text",
            "févr. 03 02:16:17 gpu-node-7 python[4711]: text",
            "11月 30 02:16:17 gpu-node-7 python[4711]: text",
        ),
        ("took 18 14:14:46 node python: text", "авг 18 14:14:46 text"),
    ),
    Form(
        "syslog-5424",
        rf"<\d{{1,3}}>1 (?:{_TIME}|-) (?:-|{_HOST}) (?P<who>\S{{1,48}} \S{{1,128}}) \S{{1,32}} "
        r'(?:-|(?:\[[^\]"]*(?:"(?:[^"\\]|\\.)*"[^\]"]*)*\])+) ?\ufeff?',
        (
            "<13>1 2026-11-30T02:16:17.003Z gpu-node-7 python 4711 - - text",
            '<34>1 2026-11-30T02:16:17+01:00 node app - ID47 [meta sequence="1"][origin ip="::1"] text',
        ),
        ("<13>text",),
    ),
    Form(
        "moreutils-ts",
        rf"{_MONTH} [ \d]\d {CLOCK} ",
        ("Nov 30 02:16:17 text", "Nov  3 02:16:17 [rank0]: text"),
        ("Nov 30 2026 text", "2 Nov 30 02:16:17 text"),
    ),
    Form(
        "stern",  # pod and container, of a Deployment
        r"(?P<host>[a-z][a-z0-9-]{0,200}-[a-z0-9]{8,10}-[a-z0-9]{5} [a-z][a-z0-9-]{0,62}) ",
        ("serve-6d5f7c9b8c-x7k2p engine text", "moe-7d9c5b6f4-abcde sidecar-1 text"),
        ("serve-6d5f7c9b8c-x7k2p: text", "pre-compiled-kernels for text"),
    ),
    Form(
        "pytest",  # the lines of an exception
        r"E {3,}(?! |$)",
        ("E   torch._dynamo.exc.Unsupported: text", "E               text"),
        ("E RKNN: text", "E tflite  : text", "E   "),
    ),
    Form("rank", r"\[rank(?P<rank>\d{1,6})\]: ?", ("[rank1]:W1130 text", "[rank0]: Traceback")),
    Form("torchrun", r"\[default(?P<local>\d{1,6})\]: ?", ("[default0]:[rank0]:V1130 text",)),
    Form(
        "mpirun",
        r"\[[\w.@-]{1,80},(?P<rank>\d{1,6})\]<(?P<who>std(?:out|err))>: ?",
        ("[1,0]<stdout>:text", "[prterun-node-77@1,3]<stderr>: text"),
        ("[1,0] text",),
    ),
    Form(
        "slurm",
        r"(?P<rank>\d{1,5}): ",
        ("0: text", "13: text"),
        ("    - 0/0: text", "0/0: text", "12:00:00 text"),
    ),
    Form(
        "actor-rank",
        r"\((?P<who>[A-Za-z_]\w{0,40} rank=(?P<rank>\d{1,6}) pid=\d+"
        rf"|Worker_TP(?P<local>\d{{1,6}})(?:_EP\d+)? pid=\d+)\)(?:{_ESC}\[0(?:;0)?m)? ",
        (
            "(VllmWorker rank=1 pid=9) text",
            "(Worker_TP1 pid=8) text",
            "(Worker_TP1_EP1 pid=8) text",
            "(Worker_TP1_EP1 pid=8)[0;0m text",
            "(Worker_TP1 pid=8)#033[0;0m text",
        ),
        ("(rank=1 pid=9) text",),
        needs="pid=",
    ),
    Form(
        "actor",
        r"\((?P<who>[A-Za-z_][\w.\[\]()-]{0,80} (?:pid|PID)=\d+(?:, ip=[\w.:]+)?)\)"
        rf"(?:{_ESC}\[0(?:;0)?m)? ",
        (
            "(RayTrainWorker pid=4711, ip=10.0.0.2) text",
            "(EngineCore_0 pid=77) text",
            "(f() pid=3) text",
            "(RayWorkerWrapper pid=812)[0m text",
            "(EngineCore_DP0 pid=165)[0;0m text",
            "(EngineCore_DP0 pid=165)^[[0;0m text",
        ),
        ("(reason pid) text",),
        needs="=",
    ),
    Form(
        "skypilot",  # of the task and the node, whose rank is no process's
        r"\((?P<who>(?:[A-Za-z0-9][\w.-]{0,80}, ){1,2}(?:rank=\d{1,6}, )?pid=\d+(?:, ip=[\w.:]+)?)\) ",
        (
            "(head, rank=0, pid=23862) text",
            "(node-0, worker1, rank=1, pid=22755, ip=172.31.81.91) text",
            "(train-moe, pid=4711) text",
        ),
        ("(pid=4711) text", "(a, b, c, pid=1) text"),
        needs="pid=",
    ),
    Form(
        "vertex",  # as gcloud streams a job: severity, time, task, and the trial of a tuning
        r"(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY)\t"
        rf"{DATE} {CLOCK} [+-]\d{{4}}\t(?P<host>[\w-]{{1,63}})\t(?:\d{{0,9}}\t)?",
        (
            "INFO\t2026-11-30 02:16:17 -0500\tworkerpool0-0\ttext",
            "ERROR\t2026-11-30 02:16:17 +0000\tworkerpool1-3\t\ttext",
        ),
        ("INFO\t2026-11-30 02:16:17\ttext",),
        needs="\t",
    ),
    Form(
        "cloudwatch",  # the stream, behind its time stamp: of Batch and ECS, of SageMaker
        r"(?P<host>[\w.-]{1,100}/(?:[\w.-]{1,100}/[0-9a-f]{32}|algo-\d{1,4}-\d{10})) ",
        (
            "train/default/0123456789abcdef0123456789abcdef text",
            "moe-2026-11-30/algo-1-1795953600 text",
        ),
        ("train/default/7 text", "a/algo-1 text"),
        needs="/",
    ),
    Form(
        "vllm-error",  # which vLLM puts before each line of a traceback
        rf"ERROR \d\d-\d\d {CLOCK} (?:\[[\w./<>-]{{1,120}}:\d{{1,6}}\]|[\w./-]{{1,120}}:\d{{1,6}}\])(?: |$)",
        (
            "ERROR 11-30 02:16:17 [core.py:396] text",
            "ERROR 11-30 02:16:17 [v1/engine/core.py:712] ",
            "ERROR 11-30 02:16:17 multiproc_worker_utils.py:240]   text",
        ),
        ("WARNING 11-30 02:16:17 [fused_moe.py:727] text", "ERROR 11-30 02:16:17 text"),
    ),
    Form(
        "compose",
        r"(?P<host>[A-Za-z0-9][\w.-]{0,80}[-_]\d+) {2,}\| ?",
        ("serve-1  | text", "moe-decoder-2     | text", "app_serve_1  | text"),
        ("aten.mm | 24 | 5120", "| text", "conv2d-1 | 24 | 5120"),
        needs="  |",
    ),
    Form(
        "colour",  # a code whose escape character a viewer or a form dropped, or rsyslog or cat spelled out
        rf"{_ESC}\[(?:0|3\d|9\d|\d{{1,3}}(?:;\d{{1,3}}){{1,5}})m(?! ?\d{{1,2}}s) ?",
        ("[0;0m text", "[36mtext", "[38;5;2mtext", "#033[1;36mtext", "^[[0;0m text"),
        ("[35m 20s] text", "[0/1] text", "[3m text"),
    ),
    Form(
        "kubectl",
        r"\[(?P<host>pod/[a-z0-9][a-z0-9.-]{0,252}/[a-z0-9][a-z0-9-]{0,62})\] ",
        ("[pod/serve-7d9c-x2k/engine] text",),
        ("[0/0] text", "[0/1_2] text", "[4/0] [__graph_breaks] text", "[a/b/c] text"),
    ),
    Form(
        "workflow-command",
        r"##\[(?:group|endgroup|section|command|debug|notice|warning|error)\]",
        ("##[group]Run text", "##[error]text", "##[endgroup]"),
        ("##[x]text", "## [group]"),
    ),
    Form(
        "gh-run-view",
        rf"(?P<who>[^\t]{{1,200}})\t[^\t]{{1,200}}\t\ufeff?{DATE}T{CLOCK}\.\d+Z ",
        (
            "compile\tBuild the engine\t2026-11-29T12:00:00.0005305Z text",
            "a (3.12)\tb\t\ufeff2026-11-29T12:00:00.1Z text",
        ),
        ("compile\tBuild\ttext", "aten.mm\t24\t2026"),
        needs="\t",
    ),
    Form(
        "airflow",  # behind its time stamp
        rf"(?:\[{DATE}, {CLOCK} [A-Z]{{3,5}}\] )?\{{[\w./-]{{1,120}}\.py:\d{{1,6}}\}} [A-Z]{{4,8}} - ",
        ("[2026-11-29, 12:00:00 UTC] {subprocess.py:93} INFO - text", "{subprocess.py:106} INFO - text"),
        ("{a.py:1} text", "[2026-11-29, 12:00:00 UTC] text"),
        needs="} ",
    ),
    Form(
        "json-lines",  # as json_lines writes it
        r"\x1e(?P<host>[^\x1e]{1,253})\x1e",
        ("\x1etrainer-0\x1etext",),
        ("\x1etext",),
    ),
    Form("buildkite", r"_bk;t=\d+\x07?", ("_bk;t=1795953600123\x07text",), ("_bk text",)),
    Form(
        "logcat-threadtime",
        rf"(?:\d{{4}}-)?\d\d-\d\d {CLOCK}\.\d{{3,6}} "
        r"(?: *\w+)? +(?P<who>\d+) +\d+ [VDIWEFS] [^:]{0,80}: ",
        ("11-30 02:16:17.123  1234  5678 I tflite  : text", "11-30 02:16:17.123 10042  1  2 W a: text"),
        ("11-30 02:16:17.123 text: more",),
    ),
    Form(
        "logcat-brief",
        rf"(?:\d\d-\d\d {CLOCK}\.\d{{3}} )?[VDIWEFS]/(?P<who>[^:()]{{1,80}}\((?=[ \d]{{5}}) *\d+\)): ",
        ("I/tflite  ( 1234): text", "11-30 02:16:17.123 I/tflite(12345): text"),
        ("I/O error (5): text", "W/a: text"),
    ),
    Form(
        "powershell",
        r"[\w.-]{1,60}\.exe : ",
        ("python.exe : text",),
        ("python.exe: text",),
        needs=".exe : ",
    ),
    Form(
        "progress-bar",
        r" {0,3}(?:[^\r|%{}]{1,60}: ?)? {0,3}\d{1,3}%\|[^|\r]{0,400}\| "
        rf"{_CHUNK}B?/{_CHUNK}B? \[[\d:?]+<[\d:?]+[^\]\r]{{0,80}}\] ?\r?",
        (
            " 10%|#         | 1/10 [00:01<00:09,  1.2it/s]text",
            "Capturing CUDA graphs: 100%|██████████| 67/67 [00:20<00:00,  3.30it/s]text",
        ),
        ("10%| text",),
        needs="%|",
    ),
    Form(
        "progress-count",  # tqdm's, of an unknown total
        r" {0,3}(?:[^\r|%{}\[]{1,60}: ?)?\d{1,12}it \[\d[\d:]{1,12}, [^\]\r]{1,40}\] ?\r?",
        ("loading model: 0it [00:08, ?it/s]text", "12it [00:00, 119.47it/s] text"),
        ("0it text", "[0it [a, b] text"),
        needs="it [",
    ),
)
