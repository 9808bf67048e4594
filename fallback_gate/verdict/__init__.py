"""Room 6: the decision. Proof first, then findings.

`processes` says who is who in several logs, `proof` weighs what each process shows, `baseline` lets stay
what was there, `decide` turns findings, limits and proof into one outcome, and `waiver` lets a named person
release a blocked run. `past_report` reads a report back, and `compare` holds two runs side by side.
"""
