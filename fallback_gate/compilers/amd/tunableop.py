r"""torch.tunableop: PyTorch's TunableOp, which picks rocBLAS and hipBLASLt kernels from a file of tuned results.

    missing params_signature, returning null ResultEntry for GemmTunableOp_BFloat16_TN,tn_5120_16_5120
    no result, using default

**What falls back.** A matrix product that is not in the results file, with tuning off, runs the library's own
choice; a file of another version of PyTorch, ROCm or the GPU is thrown away as a whole.

**At which setting it speaks.** `PYTORCH_TUNABLEOP_VERBOSE=2` (a build that has only one level: `1`) says that
there was no result, `3` for which product. The validator that failed is a warning by default.

**When it is silent.** At the default level about single products. With tuning on
(`PYTORCH_TUNABLEOP_TUNING=1`) a product without a result is tuned at its first call: no fallback. A tuned result
may be `Default`: the library's own choice was the fastest.

**What proves the end.** Nothing: products are met while the program runs, and no line shows the last one.

Wording seen in the source of 2.3 to 2.9.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Record

NAME = "torch.tunableop"
_MISSING = r"missing (?:op|params)_signature, returning null ResultEntry"
_SIGNATURE = Pattern(
    r"^" + _MISSING + r"(?: for (?P<op>[^,\s]{1,200}),(?P<params>\S{1,300}))?\s*$",
)


def no_result(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The product is on the line before; without that line, the sentence may be anyone's."""
    report = by_groups(rule, record, match)
    for line in record.preceding(3):
        if found := _SIGNATURE.match(line.text):
            if found["op"]:
                names = (found["op"], "gemm")
                report = report._replace(op=names[0], names=names, site=found["params"], scope=Scope.OPERATOR)
            yield report
            return


_SAID = "missing params_signature, returning null ResultEntry"
NO_RESULT = Rule(
    id="torch-tunableop/no-result",
    compiler=NAME,
    anchor=("no result, using default",),
    pattern=r"^(?P<reason>no result, using default)\s*$",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="The results file has no entry for the matrix product: the library's own choice is used.",
    help="Tune it (PYTORCH_TUNABLEOP_TUNING=1) on this GPU, and ship the results file.",
    seen_in="2.3 to 2.9 (source), PYTORCH_TUNABLEOP_VERBOSE=2",
    matches=(
        f"{_SAID} for GemmTunableOp_BFloat16_TN,tn_5120_16_5120\nno result, using default",
        f"{_SAID}\nno result, using default",
    ),
    ignores=("no result, using default", "policy returned no result, using defaults"),
    read=no_result,
)
REJECTED = Rule(
    id="torch-tunableop/results-rejected",
    compiler=NAME,
    anchor=("Failed validator: ", "results validator check failed"),
    pattern=r"(?:Warning: (?P<reason>Failed validator: (?:PT|ROCM|HIPBLASLT|ROCBLAS|GCN_ARCH|CUDA|CUBLAS\w*)_?\w{0,40})"
    rf"|^{BEFORE}(?P<other>results validator check failed){BEHIND})",
    kind=Kind.UNTUNED_CONFIG,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The results file was tuned for another version or GPU: all of it is thrown away.",
    help="Tune again with the versions that you ship (PYTORCH_TUNABLEOP_TUNING=1).",
    seen_in="2.3 to 2.9 (source), a warning",
    matches=(
        "[W1130 10:00:00.000000000 Tunable.cpp:400] Warning: Failed validator: ROCM_VERSION (function ValidateAll)",
        "results validator check failed",
    ),
    ignores=("Warning: Failed validator: email",),
)
LOADED = Marker(
    id="torch-tunableop/loaded",
    compiler=NAME,
    anchor=("reading tuning results from ",),
    pattern=r"^reading tuning results from \S",
    shows="TunableOp is on, and its messages are printed.",
    seen_in="2.3 to 2.9 (source)",
    matches=("reading tuning results from tunableop_results0.csv",),
    ignores=("We are reading tuning results from the file",),
)
SETTING = "PYTORCH_TUNABLEOP_VERBOSE=3, and a marker in the policy for the end of the run"
WHY = "a product is named when it is first met at a high verbosity only, and nothing shows the last one"

READER = Reader(
    name=NAME,
    rules=(NO_RESULT, REJECTED),
    markers=(LOADED,),
    required=frozenset({Kind.UNTUNED_CONFIG}),
    prove=shared.unended(WHY, SETTING, Kind.UNTUNED_CONFIG),
    setting=SETTING,
    manual=__doc__,
    silent="partly: a results file that is thrown away is warned of, single products are not",
    seen_in="2.3 to 2.9 (source)",
)
