"""Room 3: the serving stacks and model libraries, one reader each. Policies name them as their logs do: `vLLM`.

Most of them run other compilers inside (torch.compile, Triton, vendor libraries), whose own readers read
what these print, and who owe their own proof.
"""
