"""Room 3: a line that a rule's pattern matches is looked at by the scan: it holds one of the rule's anchors.

An anchor that is narrower than its pattern (another word of the same message, a number out of the example) hides
each line that differs there. The lines are drawn from the patterns themselves.
"""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fallback_gate.compilers import READERS
from fallback_gate.compilers.rule import Marker, Reader, Rule

WIDER: Final = {
    "the pattern only opens or places the message; what is read below or beside it holds the anchor": {
        "coreml/converted",
        "coreml/converting",
        "openvino/benchmark-step",
        "torch-trace/artifacts",
        "torch/cpp-wrapper",
        "torch/cpu-kernel",
        "torch/fallback-kernel",
        "torch/formatted",
        "torch/output-code-ended",
        "tvm-byoc/left-out",
        "tvm-byoc/module-printed",
        "vllm/compiled",
    },
    "the pattern takes spellings that no version prints; the anchors are those that were seen": {
        "edgetpu/not-mapped-row",
        "flashinfer/composable-path",
        "flashinfer/untuned-shape",
        "jax/host-callback",
        "mnn/unsupported-type",
        "onnxruntime/provider-asked",
        "openvino/graph-told",
        "openvino/reference-kernel-counted",
        "openvino/reference-kernel-free",
        "sglang/collective",
        "sglang/fused-operator",
        "sglang/fusion-disabled",
        "sglang/linear-attention",
        "torch/compile-error",
        "torch/error-led-on",
        "transformer-engine/chosen",
        "triton/weaker-dot",
        "tvm-build/unsupported-operator",
        "tvm-relay/fallback-config",
    },
    "the anchor stands in a part of the message that the pattern leaves open": {
        "onnxruntime/fallback-disabled",
        "vllm-ascend/attention-not-fused",
    },
}
PRINTABLE: Final = st.characters(min_codepoint=32, max_codepoint=126, include_characters="│")
ENTRIES: Final = [entry for reader in READERS.values() for entry in reader.entries]


def holds_anchor(entry: Rule | Marker, text: str) -> bool:
    """Whether the scan would stop at a text for this rule. `{n}` in an anchor is a number."""
    wanted = (re.escape(anchor).replace(r"\{n\}", r"\d{1,6}") for anchor in entry.anchor)
    return any(re.search(anchor, text) for anchor in wanted)


def hidden(entry: Rule | Marker, draws: int) -> list[str]:
    """The drawn lines that the pattern matches and that hold no anchor."""
    pattern = re.compile(entry.pattern)
    lost: list[str] = []

    @settings(
        max_examples=draws,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.from_regex(pattern, alphabet=PRINTABLE))
    def draw(text: str) -> None:
        if pattern.search(text) and not holds_anchor(entry, text):
            lost.append(text)

    draw()
    return lost


@pytest.mark.parametrize("reader", READERS.values(), ids=lambda reader: reader.name)
def test_what_a_pattern_matches_holds_an_anchor(reader: Reader) -> None:
    allowed = set().union(*WIDER.values())
    entries = [entry for entry in reader.entries if entry.anchor and entry.id not in allowed]
    assert {entry.id: lost for entry in entries if (lost := hidden(entry, 6))} == {}


def test_each_exception_is_one() -> None:
    ids = {entry.id for entry in ENTRIES}
    assert set().union(*WIDER.values()) <= ids


@pytest.mark.parametrize("solution", ["7", "64", "-1"])
def test_a_number_out_of_an_example_is_no_anchor(solution: str) -> None:
    (rule,) = (entry for entry in ENTRIES if entry.id == "migraphx/no-algorithm")
    assert holds_anchor(rule, f"No hipBLASLt algo returned for solution index: {solution}")
