"""The second half of the walk: from what the logs of a run say to one verdict.

`files` finds and reads what a run is judged by, `terms` adds what else was asked for, and `judge` holds
events and proofs against it. Beside the logs: `weigh` judges what instruments saw and measured,
`surroundings` the machine of the run, with `comparable` for claims and `rollback` for the artefact to fall
back to; `gains` holds promised gains against their bytes.
"""
