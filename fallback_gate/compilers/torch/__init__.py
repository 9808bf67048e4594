"""Room 3: PyTorch itself: torch.compile, and PyTorch on a device that lacks an operator.

`compile` and `device` are the readers and their manual pages. Of torch.compile, `log` knows how PyTorch prints
a record, `dynamo` and `inductor` read what those report, `trace` reads the structured trace, and `proof` weighs
what `markers` saw.
"""
