"""Files that are made to harm who reads them: each function writes one kind into a folder and gives its name."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.compilers.lines import clean

CLEAN = "".join(line + "\n" for line in clean())
BLOCKING = "".join(line + "\n" for line in clean("buf1 = torch.ops.aten.topk.default(buf0, 2)"))
DEEP = 200_000  # levels
MORE = 70 << 20  # bytes: from 64 MiB on, a packed text may be 400 times as large as what it is packed in


def put(folder: Path, name: str, content: str | bytes) -> str:
    """Write a file and give its name."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def archive(
    folder: Path,
    *members: tuple[str | zipfile.ZipInfo, str | bytes],
    change: Callable[[bytes], bytes] = bytes,
) -> str:
    """A zip archive of these members; `change` has the last word on its bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members:
            made.writestr(name, content)
    return put(folder, "run.zip", change(packed.getvalue()))


def zip_bomb(folder: Path) -> str:
    """A member that is packed a thousandfold."""
    return archive(folder, ("a.log", b"step 1 of 1\n" * (MORE // 12)))


def gzip_bomb(folder: Path) -> str:
    """Text that is packed a thousandfold."""
    return put(folder, "a.log.gz", gzip.compress(b"step 1 of 1\n" * (MORE // 12)))


def gzip_of_gzips(folder: Path) -> str:
    """Packed, and packed again, and again."""
    data = CLEAN.encode()
    for _ in range(9):
        data = gzip.compress(data)
    return put(folder, "a.log.gz", data)


def link_in_a_zip(folder: Path) -> str:
    """A member that is a symbolic link to a file of the system."""
    link = zipfile.ZipInfo("a.log")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return archive(folder, (link, "/etc/passwd"))


def shared_bytes(folder: Path) -> str:
    """A zip archive whose directory leads to the same bytes over and over: a bomb without any nesting."""

    def doubled(data: bytes) -> bytes:
        at = data.index(b"PK\x01\x02")
        end = data.index(b"PK\x05\x06")
        entry, tail = data[at:end], bytearray(data[end:])
        struct.pack_into("<HHL", tail, 8, 50, 50, 50 * len(entry))
        return data[:at] + entry * 50 + bytes(tail)

    return archive(folder, ("a.log", CLEAN + os.urandom(4096).hex()), change=doubled)


def another_size(folder: Path) -> str:
    """A zip archive that says that its member is smaller than it is."""

    def smaller(data: bytes) -> bytes:
        at = data.index(b"PK\x01\x02") + 24
        return data[:at] + struct.pack("<L", 10) + data[at + 4 :]

    return archive(folder, ("a.log", CLEAN), change=smaller)


def encrypted(folder: Path) -> str:
    """A member with the flag of one that needs a password."""

    def flagged(data: bytes) -> bytes:
        at = data.index(b"PK\x01\x02") + 8
        return data[:at] + b"\1" + data[at + 1 :]

    return archive(folder, ("a.log", CLEAN), change=flagged)


def wide_window(folder: Path) -> str:
    """Zstandard data that ask for 2 GiB of window."""
    return put(folder, "a.log.zst", b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3]) + b"\x19\0\0" + b"abc")


def loop(folder: Path) -> str:
    """A link that leads to itself."""
    (folder / "loop.log").symlink_to("loop.log")
    return "loop.log"


def link_to_nothing(folder: Path) -> str:
    """A folder with a link to no file."""
    (folder / "d").mkdir()
    (folder / "d" / "a.log").symlink_to("gone")
    return "d"


def aliases(folder: Path, name: str) -> str:
    """Nine aliases of nine aliases of nine: a billion values."""
    lines = ["a0: &a0 [" + "x," * 9 + "]"]
    lines += [f"a{n}: &a{n} [" + f"*a{n - 1}," * 9 + "]" for n in range(1, 10)]
    return put(folder, name, "\n".join(lines))


def merges(folder: Path, name: str) -> str:
    """The same with merge keys."""
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [" + f"*a{n - 1}," * 4 + "]}" for n in range(1, 20)]
    return put(folder, name, "\n".join(lines))


def deep_yaml(folder: Path, name: str) -> str:
    """Lists in lists, as far as the largest policy has room."""
    return put(folder, name, "version: 1\nhot: " + "[" * 90_000)


def deep_json(folder: Path, name: str, before: str = "", opening: str = "[") -> str:
    """JSON nested deeper than any parser's stack."""
    return put(folder, name, before + opening * DEEP)


def many_events(folder: Path, count: int) -> str:
    """A log of as many graph breaks, each at a place of its own."""
    said = "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:1] [0/0] [__graph_breaks] Graph break in user code at /app/m%d.py:%d\n"
    return put(folder, "a.log", "".join(said % (at, at) for at in range(1, count + 1)))


def npy(folder: Path, header: bytes) -> str:
    """An array whose header is this."""
    return put(folder, "a.npy", b"\x93NUMPY\x02\0" + struct.pack("<L", len(header) + 1) + header + b"\n")


def safetensors(folder: Path, header: object, said: int | None = None) -> str:
    """Tensors whose header is this, and says that it is so long."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return put(folder, "a.safetensors", struct.pack("<Q", len(text) if said is None else said) + text)
