"""The reports, each read back by something other than what wrote it."""
