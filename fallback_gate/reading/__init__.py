"""The first half of the walk: the logs of a run, read through sources, scan and compilers.

`run` holds what the logs say, and reads one log or a part of it. `jobs` reads them one after the other, or
several at a time in the processes of `workers`; `cluster` has them read on a Dask cluster, and `engines`
chooses where.
"""
