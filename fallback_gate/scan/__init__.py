"""Room 2: which few lines of a million matter.

`anchors` builds one hyperscan database of every literal that an active rule or marker waits for.
`window` runs it once over the raw bytes of a source, in a window of bounded size, and cuts out each line
that was hit as a `record`. Line numbers are counted only as far as they are needed: for a file that can
be read again, after the scan and up to the last line that a report names; else on the way.
"""
