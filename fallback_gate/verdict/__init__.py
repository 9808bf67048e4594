"""Room 6: the decision. Proof first, then findings.

`proof` weighs what each process shows and pools what is said about one process in several logs; `decide`
turns findings, limits and proof into one outcome; `waiver` lets a named person release a blocked run.
"""
