"""Room 3: PyTorch itself: torch.compile, and PyTorch on a device that lacks an operator.

`compile` and `device` are the readers and their manual pages. Of torch.compile, `log` knows how PyTorch prints
a record; `graph_breaks`, `frames`, `inductor`, `cpp_wrapper` and `cudagraphs` read what Dynamo and Inductor report,
`trace` the structured trace. `proof` and `left_open` weigh what `markers` saw, `trace_proof` what stands in the trace.
"""
