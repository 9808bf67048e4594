"""THE SIDE DOOR: run a compile so that its log proves something.

    table      for each compiler, the variables that make it speak, and what works where none does
    plan       those settings, laid over what the user set already
    found      which of the compilers the command's Python has, in which versions
    record     the command, run: its output passed through and logged, its traces gathered, all of it sealed
    hook       what is loaded into the command's Python processes; it knows nothing of this package

A log is written here and read like any other in the rooms: the seal's form (`sources.seal`) is all that both
sides share.
"""
