"""THE ANNEX: evidence beside the log.

An instrument is one module (or folder) here: it turns one file into an `Evidence`, measurements and the
fallbacks that it saw. What can be measured is named in `model.measures`; a policy sets limits for it under
`instruments`, and the gate judges both like what a log says. An instrument reads bytes (`sources`) and knows
the vocabulary (`model`), nothing else of the house.
"""
