"""Other walks through the same house, beside `gate.check`.

`watch` reads logs beside the job that writes them, `guard` the compilers of its own process, `trial` the
cases that a policy brings along, and `cover` makes the coverage matrix.
"""
