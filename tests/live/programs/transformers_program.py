"""A small model of Hugging Face; the first argument names it: mamba, whose kernels are not installed, or llama."""

import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, MambaConfig, MambaForCausalLM

if sys.argv[1] == "mamba":
    model = MambaForCausalLM(MambaConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, state_size=4))
else:
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4))
with torch.no_grad():
    print("logits", model.eval()(torch.ones(1, 4, dtype=torch.long)).logits.shape, flush=True)
