"""The annex, the coverage matrix: what Inductor generated and what it left to a library, by its output code.

`TORCH_LOGS=output_code` prints the wrapper of each graph, and a structured trace (TORCH_TRACE) holds it as
`inductor_output_code`. Above each Triton kernel stand the operators in it: `Original ATen: [aten.mul,
...]`, and from 2.9 on their shapes and types (`%mul : Tensor "bf16[24, 2048][2048, 1]cuda:0"...
call_function[target=torch.ops.aten.mul.Tensor]`). In `call` stand the kernels as they are started and the
calls of library kernels, `extern_kernels.mm(..., out=buf2)`, whose buffers have shapes above. What `call`
asks the framework for, `torch.ops.aten.topk.default(...)`, is a fallback, which the reader of the log
reports.

Source: torch/_inductor/codegen/wrapper.py and triton.py in pytorch/pytorch; seen in 2.4.1 to 2.14.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fallback_gate.compilers.torch.log import NAME, parse
from fallback_gate.coverage import shapes
from fallback_gate.coverage.kernel_names import computes
from fallback_gate.instruments.trace.fused import fused
from fallback_gate.model.matrix import Cell, Column
from fallback_gate.model.names import operator

MOST_STARTS: Final = 200_000
_VIEWS: Final = """
view reshape _unsafe_view permute transpose t squeeze unsqueeze expand slice select split split_with_sizes
alias detach clone getitem as_strided unbind chunk copy_
"""
_FREE: Final = frozenset(_VIEWS.split())  # what runs nothing of its own
_SKIPPED: Final = frozenset(
    {"prims::convert_element_type", "aten::_to_copy", "prims::iota", "prims::inductor_seeds"}
)
_OPERATORS = re.compile(r"Original ATen: \[(?P<names>[^\]]*)\]")
_NODE = re.compile(
    r"#\s+%\w+ : (?:Tensor \"(?P<dtype>\w+)\[(?P<shape>[\d, ]*)\][^\"]*\")?.*?"
    r"call_function\[target=torch\.ops\.(?P<op>[\w.]+)\]"
)
_KERNEL = re.compile(r"^(?P<name>\w+) = async_compile\.(?P<how>triton|cpp\w*|cutlass|cuda|pallas|halide)\(")
_START = re.compile(r"^\s+(?P<name>(?:triton|cpp|cuda|cutlass)_\w+)(?:\.run)?\((?P<args>.*)")
_EXTERN = re.compile(r"^\s+(?:(?P<result>\w+) = )?extern_kernels\.(?P<op>\w+)\((?P<args>.*)")
_CALL = re.compile(r"^\s+(?:(?P<result>\w+) = )?(?P<op>(?:torch\.ops|aten)\.[\w.]+)\((?P<args>.*)")
_MADE = re.compile(r"^\s+(?P<name>\w+) = (?:empty_strided\w*|reinterpret_tensor)\((?P<rest>.*)")
_RENAMED = re.compile(r"^\s+(?P<name>\w+) = (?P<old>(?:buf|arg|primals_)\w+)(?:;|$)")
_CHECKED = re.compile(r"^\s+assert_size_stride\((?P<name>\w+), \((?P<shape>[\d, ]*)\)")
_TUPLE = re.compile(r"\((?P<shape>[\d, ]*)\)")
_DTYPE = re.compile(r"torch\.(?P<dtype>\w+)")
_TENSOR = re.compile(
    r"reinterpret_tensor\((?P<of>\w+), \((?P<shape>[\d, ]*)\)"
    r"|(?P<out>out=)?(?P<name>\b(?:buf|arg|primals_)\w+)"
)


class Part(NamedTuple):
    """One operator that a kernel computes: its shape is that of the result."""

    op: str
    shape: str = ""
    dtype: str = ""


class Operand(NamedTuple):
    """A buffer that a call takes, and its shape there."""

    buffer: str
    shape: str = ""


class Start(NamedTuple):
    """One kernel or call, in the order of the wrapper: what it takes, and the buffer that it writes last."""

    name: str
    is_generated: bool
    part: Part | None = None
    reads: tuple[Operand, ...] = ()
    writes: str = ""


@dataclass(slots=True)
class OutputCode:
    """What the output code of a log says: the operators of each generated kernel, and what `call` starts."""

    kernels: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    starts: list[Start] = field(default_factory=list)

    def cells(self) -> Iterator[Cell]:
        """The operators that were generated, and the calls of library kernels."""
        for name, parts in self.kernels.items():
            for part in parts:
                yield cell(part, Column.GENERATED, name, shared=len(parts) > 1)
        for start in self.starts:
            if start.part is not None and not start.is_generated and start.name.startswith("extern_kernels."):
                yield cell(start.part, Column.LIBRARY, start.name)


def cell(part: Part, column: Column, by: str, *, shared: bool = False, time: float | None = None) -> Cell:
    """The cell of an operator that Inductor knows of."""
    return Cell(part.op, NAME, column, part.shape, part.dtype, (by,), time, shared)


def read(lines: Iterable[str]) -> OutputCode:
    """The output code in the lines of a log or of a structured trace."""
    reader = _Reader()
    for line in lines:
        code = _code(line)
        if code is not None:
            reader.take(code)
    return reader.code


def _code(line: str) -> str | None:
    """The line of code that a line holds: after PyTorch's prefix, or a payload's tab."""
    if line.startswith("\t"):
        return line[1:]
    if "output_code" not in line:
        return None
    log = parse(line)
    return log.message if log and log.artifact == "output_code" else None


class _Reader:
    """The state of the lines: the operators said last, and the shapes of the buffers of this wrapper."""

    def __init__(self) -> None:
        self.code = OutputCode()
        self._named: list[Part] = []
        self._nodes: list[Part] = []
        self._shapes: dict[str, tuple[str, str]] = {}

    def take(self, line: str) -> None:
        """Take one line of code."""
        stripped = line.lstrip()
        if stripped.startswith("#"):
            self._comment(line)
        elif found := _KERNEL.match(line):
            self._kernel(found["name"])
        elif line.startswith((" ", "\t")):
            self._body(line)
        elif line.startswith("def call("):
            self._shapes = {}

    def _comment(self, line: str) -> None:
        if found := _OPERATORS.search(line):
            names = (name.strip() for name in found["names"].split(","))
            self._named = [Part(operator(name)) for name in names if "." in name]
            self._nodes = []
        elif node := _NODE.search(line):
            said = node["shape"]
            shape = "" if said is None else shapes.RESULT + _shape(said)
            self._nodes.append(
                Part(operator(f"torch.ops.{node['op']}"), shape, shapes.dtype(node["dtype"] or ""))
            )

    def _kernel(self, name: str) -> None:
        shown = {part.op for part in self._nodes}
        named = self._named or [Part(op) for op in fused(name)]  # C++ kernels have no comment
        parts = [*self._nodes, *(part for part in named if part.op not in shown)]
        kept = dict.fromkeys(part for part in parts if not _is_free(part.op) and computes(name, part.op))
        self.code.kernels[name] = tuple(kept)
        self._named, self._nodes = [], []

    def _body(self, line: str) -> None:
        if found := _MADE.match(line):
            shape, dtype = _TUPLE.search(found["rest"]), _DTYPE.search(found["rest"])
            old = re.match(r"\w+", found["rest"])
            known = self._shapes.get(old[0] if old else "", ("", ""))[1]
            said = shapes.dtype(dtype["dtype"]) if dtype else known
            self._shapes[found["name"]] = (_shape(shape["shape"]) if shape else "", said)
        elif found := _CHECKED.match(line):
            self._shapes[found["name"]] = (
                _shape(found["shape"]),
                self._shapes.get(found["name"], ("", ""))[1],
            )
        elif found := _RENAMED.match(line):
            self._shapes[found["name"]] = self._shapes.get(found["old"], ("", ""))
        elif len(self.code.starts) >= MOST_STARTS:
            return
        elif found := _START.match(line):
            buffers = re.findall(r"\b(?:buf|arg|primals_)\w+", found["args"])
            reads = tuple(Operand(buffer) for buffer in buffers[:-1])
            self.code.starts.append(Start(found["name"], True, None, reads, "".join(buffers[-1:])))
        elif found := _EXTERN.match(line) or _CALL.match(line):
            self._call(found["op"], found["args"], found["result"] or "", extern="extern_kernels." in line)

    def _call(self, op: str, args: str, result: str, *, extern: bool) -> None:
        taken, types, out = list[Operand](), list[str](), ""
        for tensor in _TENSOR.finditer(args):
            name = tensor["of"] or tensor["name"]
            shape, dtype = self._shapes.get(name, ("", ""))
            if tensor["out"] or (tensor["of"] and args[: tensor.start()].endswith("out=")):
                out, types = name, [dtype, *types]
            else:
                taken.append(Operand(name, shape if tensor["shape"] is None else _shape(tensor["shape"])))
                types.append(dtype)
        dtype = next(iter(types), "")  # of the result, else of the first operand
        self._shapes.setdefault(result, ("", dtype))
        whole = f"aten::{op}" if extern else operator(op)
        part = Part(whole, shapes.inputs([one.shape for one in taken]), dtype)
        name = f"extern_kernels.{op}" if extern else op
        self.code.starts.append(Start(name, False, part, tuple(taken), out or result))


def _shape(said: str) -> str:
    return shapes.dims(part.strip() for part in said.split(",") if part.strip())


def _is_free(op: str) -> bool:
    return op in _SKIPPED or op.rpartition("::")[2] in _FREE
