"""Room 3: libraries of quantised layers that Transformers loads, without their kernels. The manual page is `transformers`.

https://github.com/AutoGPTQ/AutoGPTQ/blob/main/auto_gptq/modeling/_base.py and
https://github.com/huggingface/optimum-quanto/blob/main/optimum/quanto/library.
"""

from __future__ import annotations

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.shared import called, named
from fallback_gate.model import Kind, Scope

NAME = "transformers"

AUTO_GPTQ = Rule(
    id="transformers/auto-gptq-kernels",
    compiler=NAME,
    anchor=("kernel is not installed, reset disable_exllama", "CUDA kernels for auto_gptq are not installed"),
    pattern=r"(?:^|\bWARNING\b[\w :.,\[\]-]{0,80})(?P<reason>Exllama(?:v2)? kernel is not installed(?=, reset disable_exllama)"
    r"|CUDA kernels for auto_gptq are not installed(?=, this will result in very slow))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The kernels of AutoGPTQ's quantised layers were not built: slower ones, or PyTorch's own calls, compute them.",
    help="Build auto_gptq from source where CUDA is installed, take a wheel with its kernels, or move to gptqmodel.",
    seen_in="auto_gptq 0.4 to 0.7 (source and public threads), WARNING, once a model",
    matches=(
        "WARNING - Exllamav2 kernel is not installed, reset disable_exllamav2 to True. This may because you installed auto_gptq using a pre-build wheel on Windows",
        "2026-01-01 00:00:00 WARNING [auto_gptq.modeling._base] CUDA kernels for auto_gptq are not installed, this will result in very slow inference speed. This may because:",
        "WARNING:Exllama kernel is not installed, reset disable_exllama to True. This may because you installed auto_gptq",
    ),
    ignores=(
        "2026-01-01 00:00:00,477 WARNING qlinear_cuda.py L18: CUDA extension not installed.",
        'It prints "CUDA kernels for auto_gptq are not installed, this will result in very slow inference speed".',
    ),
    read=called("linear", "quantized_linear"),
)
QUANTO = Rule(
    id="transformers/quanto-kernel",
    compiler=NAME,
    anchor=("optimized kernel found for quanto::", "calling the optimized kernel for quanto::"),
    pattern=r"Warning: (?:(?P<reason>No optimized kernel found) for (?P<missing>quanto::\w{1,80})\."
    r"|An exception was raised while calling the optimized kernel for (?P<failed>quanto::\w{1,80}): .{0,600}?)"
    r" ?Falling back to default implementation",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Quanto's kernel is missing or failed: a sequence of PyTorch's calls computes the operator.",
    help="The message says why; the extension is compiled at first use, which needs a compiler and CUDA's headers.",
    seen_in="quanto 0.0.12 to optimum-quanto 0.2 (source and public threads), UserWarning",
    matches=(
        "/x/site-packages/quanto/library/ops.py:66: UserWarning: An exception was raised while calling the optimized kernel for quanto::dqmm: /home/u/.cache/quanto_cpp.so: cannot open shared object file: No such file or directory Falling back to default implementation.",
        "UserWarning: No optimized kernel found for quanto::unpack. Falling back to default implementation.",
    ),
    at_least=True,
    read=lambda rule, record, match: (
        named(by_groups(rule, record, match), match["missing"] or match["failed"])._replace(
            reason=match["reason"] or "the optimized kernel raised an exception"
        ),
    ),
)

RULES = (AUTO_GPTQ, QUANTO)
