"""Room 1: where bytes come from.

A user says `build/*.log run.zip -`; this room turns that into a list of `Source`s (`find.expand`), each
a name and a way to read it, and each `Source` opens as a `Stream` that fills a buffer with UTF-8 text:
files, standard input and pipes, objects behind URLs, members of zip archives; unpacked from gzip, xz,
bzip2 or Zstandard, and transcoded from UTF-16, whatever the name says. What is plain text on disk goes from
the kernel to the caller's buffer without a copy between.

Nothing here is trusted. An archive may be cut short, corrupt or a bomb; a member's name may climb out of
its folder; a file may be an executable, endless, or change under our hands. All that ends in one of two
ways: a line for the user about an input that is not there, or `Unreadable` after what could be read.
Memory stays bounded, and nothing is ever written to disk.
"""

from fallback_gate.sources.find import expand
from fallback_gate.sources.source import Source

__all__ = ["Source", "expand"]
