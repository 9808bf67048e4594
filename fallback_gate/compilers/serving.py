"""Room 3: the serving stacks and model libraries, one reader each. Policies name them as their logs do: `vLLM`.

Most of them run other compilers inside (torch.compile, Triton, vendor libraries), whose own readers read
what these print, and who owe their own proof.
"""

from __future__ import annotations

from fallback_gate.compilers import (
    deepspeed,
    hf_transformers,
    llama_cpp,
    lmdeploy,
    sglang,
    text_generation_inference,
    vllm,
)

READERS = (
    vllm.READER,
    sglang.READER,
    lmdeploy.READER,
    text_generation_inference.READER,
    deepspeed.READER,
    hf_transformers.READER,
    llama_cpp.READER,
)
