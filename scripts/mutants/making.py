"""The mutants of a file: each a small change of one function, by mutmut's operators and one of our own.

What is changed: comparisons, `and` and `or`, `not`, `in` and `is`, numbers, True and False, arguments left
out or None, assignments, string methods that have a twin, `break` and `continue`, and strings that are one
word (keys, separators). Beside mutmut's: each condition is held at False and at True. Not changed: wording
(strings with a blank in them, also as arguments), type annotations, defaults, decorators, and what stands
outside of functions: declarations and patterns, which have lines to match and to ignore.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, WhitespaceInclusivePositionProvider
from mutmut.mutation import mutators

AROUND = 24  # characters around a change that its name shows


class Mutant(NamedTuple):
    """A change of one function: of a file's text from `start` to `end`, in lines `lines` of a statement.

    `name` says what, and stays when lines move.
    """

    name: str
    file: Path
    function: tuple[str, ...]
    line: int
    lines: range
    start: int
    end: int
    text: str
    whole: str

    def source(self) -> str:
        """The text of the changed file."""
        return self.whole[: self.start] + self.text + self.whole[self.end :]


def mutants_of(file: Path, root: Path) -> list[Mutant]:
    """The mutants of the functions and methods of a file, in the order of its lines."""
    text = file.read_text(encoding="utf-8")
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    visitor = _Visitor(wrapper.module, file, text)
    wrapper.visit(visitor)
    where, known, made = file.relative_to(root).as_posix(), Counter[str](), []
    for one in visitor.made:
        name = f"{where} {'.'.join(one.function)}: {one.name}"
        known[name] += 1
        made.append(one._replace(name=name + (f" ({known[name]})" if known[name] > 1 else "")))
    return made


class _Visitor(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (WhitespaceInclusivePositionProvider,)

    def __init__(self, module: cst.Module, file: Path, text: str) -> None:
        self.made: list[Mutant] = []  # named by what differs
        self._module, self._file, self._text = module, file, text
        self._starts = [0]  # of each line
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._open: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Annotation, cst.Parameters, cst.Decorator)) or _is_wording(node):
            return False
        self._open.append(node)
        if any(isinstance(outer, cst.FunctionDef) for outer in self._open):
            for old, new in _changes(node):
                self._keep(old, new)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self._open and self._open[-1] is original_node:
            self._open.pop()

    def _span(self, node: cst.CSTNode) -> Any:
        return self.get_metadata(WhitespaceInclusivePositionProvider, node)

    def _keep(self, old: cst.CSTNode, new: cst.CSTNode) -> None:
        place, text = self._span(old), self._module.code_for_node(new)
        start = self._starts[place.start.line - 1] + place.start.column
        end = self._starts[place.end.line - 1] + place.end.column
        statement = next(
            node
            for node in reversed(self._open)
            if isinstance(node, (cst.BaseCompoundStatement, cst.SimpleStatementLine))
        )
        last = statement.body if isinstance(statement, cst.BaseCompoundStatement) else statement
        until = self._span(last).start.line if last is not statement else self._span(last).end.line
        lines = range(self._span(statement).start.line, max(until, place.end.line) + 1)
        shown = _difference(self._shown(old), self._shown(new))
        if isinstance(old, (cst.ComparisonTarget, cst.BaseCompOp)):
            comparison = next(node for node in reversed(self._open) if isinstance(node, cst.Comparison))
            shown += f" in {self._shown(comparison)}"
        line, whole = place.start.line, self._text
        self.made.append(Mutant(shown, self._file, self._function(), line, lines, start, end, text, whole))

    def _shown(self, node: cst.CSTNode) -> str:
        return " ".join(self._module.code_for_node(node).split())

    def _function(self) -> tuple[str, ...]:
        """The classes and the function that the module holds; what stands inside of it goes with it."""
        path = []
        for node in self._open:
            if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
                path.append(node.name.value)
            if isinstance(node, cst.FunctionDef):
                break
        return tuple(path)


def _difference(old: str, new: str) -> str:
    """What differs, with what stands around it."""
    same = len(os.path.commonprefix([old, new]))
    alike = len(os.path.commonprefix([old[same:][::-1], new[same:][::-1]]))
    parts = []
    for text in (old, new):
        first, last = same - AROUND, len(text) - alike + AROUND
        part = text[max(first, 0) : last]
        parts.append(("…" if first > 0 else "") + part + ("…" if last < len(text) else ""))
    return " -> ".join(parts)


def _changes(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The changes of a node: what is to be replaced, and by what."""
    if isinstance(node, (cst.If, cst.While, cst.CompIf)):
        yield node.test, cst.Name("False")
        if not isinstance(node, cst.While):  # no loop is made endless
            yield node.test, cst.Name("True")
    if isinstance(node, cst.SimpleString):
        yield from ((node, new) for new in list(mutators.operator_string(node))[:1])  # then the case changes
        return
    for kind, operator in mutators.mutation_operators:
        if not isinstance(node, kind) or operator is mutators.operator_match:
            continue
        if operator is mutators.operator_arg_removal:
            operator = _arguments
        yield from ((node, new) for new in operator(node))


def _arguments(node: cst.Call) -> Iterable[cst.CSTNode]:
    """mutmut's changes of arguments, save those of wording; only what may have a default is left out."""
    if isinstance(node.func, cst.Name) and node.func.value in {"len", "isinstance", "cast"}:
        return
    spoken = {id(arg.value) for arg in node.args if _is_wording(arg.value)}
    needed = {id(arg) for arg in node.args[:-1] if arg.keyword is None}
    for new in mutators.operator_arg_removal(node):
        kept = new.args if isinstance(new, cst.Call) else ()
        if len(kept) < len(node.args) and not needed <= {id(arg) for arg in kept}:
            continue
        if spoken <= {id(arg.value) for arg in kept}:
            yield new


def _is_wording(node: cst.CSTNode) -> bool:
    """Whether a string, or any part of a formatted or joined one, has a blank in it: it is said to people."""
    if isinstance(node, cst.SimpleString):
        return '"""' in node.quote or " " in node.raw_value.strip(" ")
    if isinstance(node, cst.FormattedString):
        return any(isinstance(part, cst.FormattedStringText) and " " in part.value for part in node.parts)
    return isinstance(node, cst.ConcatenatedString) and (_is_wording(node.left) or _is_wording(node.right))
