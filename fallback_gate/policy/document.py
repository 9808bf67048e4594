"""Room 5: one YAML file, read strictly: plain values, the line of each key, and all that is wrong with it.

YAML is PyYAML's safe subset, composed to nodes so that every key keeps its line. Beyond the syntax we
refuse what hides mistakes (a key given twice) and what is no data (tags, several documents), and we
bound what a small file can blow up to: its size, its nesting, its aliases, and the values they expand to.
Merge keys (`<<: *common`) work, so that entries may share an owner and a date.
"""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE

import yaml

from fallback_gate.policy.page import BROKEN, Key, Page, shown

LARGEST = 256 * 1024  # bytes of one file
DEEPEST = 40  # levels of nesting
MOST_ALIASES = 100
MOST_VALUES = 50_000  # after aliases are expanded


def read(data: bytes, name: str) -> Page:
    """Read one file's bytes. Never raises: what is wrong stands in the page's problems."""
    page = Page(name)
    if len(data) > LARGEST:
        page.complain_line(
            1, f"the file is larger than {LARGEST // 1024} KiB; a policy is a short list: split it"
        )
        return page
    wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))  # YAML allows it, and PowerShell's `>` writes it
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        page.complain_line(line, f"the file is not {'UTF-16' if wide else 'UTF-8'}; save it as UTF-8")
        return page
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is not None:
            page.value = _Values(page, loader).of(node, (), ())
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        where = shown(text[error.position : error.position + 1])
        page.complain_line(line, f"the character {where} may not stand here; take it out")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        page.complain_line(mark.line + 1 if mark else 1, _syntax(error))
    except _TooMuch as error:
        page.complain_line(error.line, str(error))
    return page


def _syntax(error: yaml.MarkedYAMLError) -> str:
    what = "; ".join(str(part) for part in (error.context, error.problem) if part)
    if "alias" in what:
        return f"this is not valid YAML: {what}; a name or glob that begins with * needs quotes"
    if "'\\t'" in what:
        return f"this is not valid YAML: {what}; indent with blanks, not with tabs"
    if "mapping values are not allowed" in what:
        return (
            f"this is not valid YAML: {what}; put quotes around text that holds `: `, or mend the indentation"
        )
    return f"this is not valid YAML: {what}; correct the syntax"


class _TooMuch(Exception):
    """The file blows up; nothing after this point is read."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class _Loader(yaml.SafeLoader):
    """The safe loader, with a bound on nesting and on aliases."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1 if event.start_mark else 1
        if self.check_event(yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MOST_ALIASES:
                raise _TooMuch(line, f"more than {MOST_ALIASES} aliases; write the values out")
        self._depth += 1
        if self._depth > DEEPEST:
            raise _TooMuch(line, f"more than {DEEPEST} levels of nesting; a policy needs four")
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Values:
    """Nodes to plain values, with the line of each key written to the page."""

    def __init__(self, page: Page, loader: yaml.SafeLoader) -> None:
        self._page, self._loader, self._count = page, loader, 0

    def of(self, node: yaml.Node, key: Key, around: tuple[int, ...]) -> object:
        line = node.start_mark.line + 1
        self._page.lines.setdefault(key, line)
        self._count += 1
        if self._count > MOST_VALUES:
            raise _TooMuch(line, f"more than {MOST_VALUES} values once aliases are expanded; write them out")
        if id(node) in around:
            raise _TooMuch(line, "an alias that holds itself; write the values out")
        around += (id(node),)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
            return [self.of(child, (*key, index), around) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
            return self._mapping(node, key, around)
        return self._tagged(node, line)

    def _scalar(self, node: yaml.ScalarNode, line: int) -> object:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind in ("str", "merge", "value"):
            return str(node.value)
        if kind not in ("null", "bool", "int", "float", "timestamp"):
            return self._tagged(node, line)
        try:
            return self._loader.construct_object(node)
        except (ValueError, LookupError, AttributeError, TypeError, OverflowError, yaml.YAMLError):
            what = "day of the calendar" if kind == "timestamp" else f"valid {kind}"
            self._page.complain_line(line, f"{shown(node.value)} is no {what}; correct it, or quote it")
            return BROKEN

    def _tagged(self, node: yaml.Node, line: int) -> object:
        self._page.complain_line(line, f"the tag {shown(node.tag)} is not allowed here; write plain YAML")
        return BROKEN

    def _mapping(self, node: yaml.MappingNode, key: Key, around: tuple[int, ...]) -> dict[str, object]:
        merged: dict[str, object] = {}
        own: dict[str, object] = {}
        for name, value in node.value:
            if name.tag == "tag:yaml.org,2002:merge":
                self._merge(value, key, around, merged)
        for name, value in node.value:
            line = name.start_mark.line + 1
            if name.tag == "tag:yaml.org,2002:merge":
                continue
            if not isinstance(name, yaml.ScalarNode):
                self._page.complain_line(line, "a key that is a list or a mapping; a key is a word")
                continue
            word = str(name.value)
            if word in own:
                first = self._page.lines[(*key, word)]
                text = f"the key {shown(word)} stands twice, first in line {first}; keep one"
                self._page.complain_line(line, text)
                continue
            self._page.lines[(*key, word)] = line
            own[word] = self.of(value, (*key, word), around)
        return {**merged, **own}

    def _merge(self, node: yaml.Node, key: Key, around: tuple[int, ...], into: dict[str, object]) -> None:
        for part in node.value if isinstance(node, yaml.SequenceNode) else (node,):
            value = self.of(part, key, around)
            if isinstance(value, dict):
                for word, inner in value.items():
                    into.setdefault(word, inner)
            elif value is not BROKEN:
                self._page.complain_line(node.start_mark.line + 1, "<< takes a mapping; write `<<: *name`")
