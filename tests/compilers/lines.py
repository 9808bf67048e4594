"""Lines of a torch.compile log, made by hand after PyTorch's record format."""

from __future__ import annotations

SITE = "/opt/venv/lib/python3.11/site-packages/torch"


def record(
    *said: str,
    level: str = "V",
    artifact: str = "",
    cid: str = "0/0",
    pid: int = 4674,
    at: str = "_dynamo/x.py:1",
) -> list[str]:
    """The physical lines of one record: each carries the whole prefix."""
    prefix = f"{level}1130 00:29:06.251000 {pid} torch/{at}] "
    prefix += f"[{cid}] " if cid else ""
    prefix += f"[__{artifact}] " if artifact else ""
    return [prefix + line for line in said]


def graph_break(*said: str, **where: object) -> list[str]:
    """A record of the artifact graph_breaks."""
    return record(*said, artifact="graph_breaks", **where)  # type: ignore[arg-type]


def listed(*frames: str, **where: object) -> list[str]:
    """Dynamo's list at exit."""
    lines = ("TorchDynamo attempted to trace the following frames: [", *(f"  * {f}" for f in frames), "]")
    return record(*lines, level="I", cid="", **where)  # type: ignore[arg-type]


def traced(
    frame: str = "forward /app/moe/decoder.py:148",
    backend: str = "inductor",
    *,
    cid: str = "0/0",
    **where: object,
) -> list[str]:
    """INFO of Dynamo: a frame traced to its end and given to a back end, which returned."""
    lines = (
        f"Step 1: torchdynamo start tracing {frame}",
        f"Step 1: torchdynamo done tracing {frame.split()[0]} (RETURN_VALUE)",
        f"Step 2: calling compiler function {backend}",
        f"Step 2: done compiler function {backend}",
    )
    return [line for said in lines for line in record(said, level="I", cid=cid, **where)]  # type: ignore[arg-type]


def code(*calls: str, cid: str = "0/0", ended: bool = True, **where: object) -> list[str]:
    """The generated wrapper of one graph."""
    lines = [
        "Output code: ",
        "# AOT ID: ['0_inference']",
        "import torch",
        "aten = torch.ops.aten",
        "inductor_ops = torch.ops.inductor",
        "_quantized = torch.ops._quantized",
        "alloc_from_pool = torch.ops.inductor._alloc_from_pool",
        "def call(args):",
        *(f"        {call}" for call in calls),
        "        return (buf0, )",
        "",
    ]
    text = record(*lines, artifact="output_code", cid=cid, **where)  # type: ignore[arg-type]
    if ended:
        end = "Output code written to: /tmp/torchinductor/zj/czj.py"
        text += record(end, artifact="output_code", cid=cid, **where)  # type: ignore[arg-type]
    return text


def clean(*calls: str, pid: int = 4674) -> list[str]:
    """A whole log that proves the kinds that torch.compile requires."""
    return [*traced(pid=pid), *code(*calls, pid=pid), *listed("forward /app/moe/decoder.py:148", pid=pid)]
