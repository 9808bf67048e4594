"""Room 3: the call that broke a graph, as far as PyTorch's words name it.

A function that Dynamo must not trace, a builtin, or an operator by its full name: the names by which people
look for it in a policy, beside that of the user's function around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from fallback_gate.model.names import operator, plain
from fallback_gate.patterns import Pattern

_FUNCTION_OBJECT = Pattern(r"<(?:function|bound method|method) (?P<name>[\w.<>]+)(?: at 0x| of )")
_SKIPPED_CALL = Pattern(r"(?:module: (?P<module>[\w.]+), )?qualname: (?P<name>[\w.]+)")
_METHOD = Pattern(r"method `(?P<name>\w+)` of class `(?P<owner>[\w.]+)`")
_OPERATOR = Pattern(
    r"(?<![\w./-])(?:torch\.ops\.(?P<spelled>[a-z_]\w*\.\w+(?:\.\w+)?)|(?!torch\.)(?P<name>[a-z_]\w*(?:\.|::)[a-z_]\w*\.[A-Za-z_]\w*))\b"
)
_FAKE_CALL = Pattern(r"call_(?:function|method) (?:torch\.ops\.)?(?P<name>[A-Za-z_][\w.:]*)\(\*")
_LOWERED = Pattern(r"(?m)^ *target: (?P<name>[A-Za-z_][\w.:]*)$")
_STATEMENT = Pattern(  # whose outermost call is an operator's, by its full name
    r"\s*(?:return |[^=(\s][^=(]{0,199}= )?(?P<name>torch\.ops\.[a-z_]\w*\.\w+(?:\.\w+)?)\("
)
_BUILTIN = Pattern(r"builtin:? `?(?P<name>[\w.]+?)\.?`?(?: \[|\(| This|`|$)")
_OLD_BUILTIN = Pattern(
    r"(?:unsupported builtin |builtin: |BuiltinVariable\(|UserDefinedObjectVariable\()(?P<name>[\w.]*\w)"
)
_DISABLED_OBJECT = Pattern(
    r"graph break should occur when calling `(?P<source>[^`]{1,400})`\. Reason: Optimized `nn\.Module` is wrapped with"
)
_BETWEEN = Pattern(r"\W+")
_EVERY_MODULE = ("Module._wrapped_call_impl", "Module._call_impl")  # a disabled class: which, is not told
ITEM_NAMES = ("Tensor.item", "aten::_local_scalar_dense")


def offending_call(reason: str, lines: Iterable[str]) -> tuple[str, ...]:
    """The names of the call that broke the graph, as far as the record tells them."""
    if "Tensor.item" in reason:
        return ITEM_NAMES
    text = "\n".join(line for line in islice(lines, 30) if not line.lstrip().startswith("Hint:"))
    if "torch._dynamo.graph_break()" in reason:
        return ("torch._dynamo.graph_break",)
    if found := _DISABLED_OBJECT.search(text):
        return _attribute(found["source"])
    if ("disable" in reason or "function" in reason or "callable" in reason) and (
        found := _FUNCTION_OBJECT.search(text)
    ):
        return _of_object(found["name"].replace("<locals>.", ""))
    if found := _SKIPPED_CALL.search(text):
        return (public(".".join(filter(None, (found["module"], found["name"])))),)
    if found := _METHOD.search(text):
        return (f"{found['owner']}.{found['name']}",)
    if "builtin" in reason and (found := _BUILTIN.search(text)):
        return (public(found["name"]),)
    if called := failed_call(f"{reason}\n{text}"):
        return called
    if ("perator" in reason or "fake" in reason.lower()) and (found := _OPERATOR.search(text)):
        return _spellings(found["spelled"] or found["name"])
    return ()


def public(name: str) -> str:
    """The name by which people call a function of `torch`, which Dynamo names by the class that holds it."""
    return name.replace("torch._VariableFunctionsClass.", "torch.")


def _of_object(name: str) -> tuple[str, ...]:
    """The name of a function that must not be traced, unless it is that of every module."""
    return () if name in _EVERY_MODULE else (name,)


def _attribute(source: str) -> tuple[str, ...]:
    """The names of a module by where it stands: `L['self']._modules['layers']._modules['3']._modules['attn']`."""
    path = [step for step in _BETWEEN.sub(" ", source).split()[1:] if step != "_modules"]
    named = [step for step in path if not step.isdecimal()]
    return tuple(dict.fromkeys((named[-1], ".".join(path[1:] or path)))) if named else ()


def hides_a_module(reason: str, lines: Iterable[str]) -> bool:
    """Whether a disabled module was called, and which one it is, is not told: a class, up to 2.8 an instance too."""
    text = "\n".join(islice(lines, 30))
    found = _FUNCTION_OBJECT.search(text) if "disable" in reason else None
    return "`DelayGraphBreakVariable()`" in text or (found is not None and found["name"] in _EVERY_MODULE)


def failed_call(text: str) -> tuple[str, ...]:
    """The names of the call that Dynamo could not run on fake tensors (`call_function serve.rope(*(FakeTensor...`), or
    that Inductor failed to lower (`target: aten.topk.default`)."""
    found = _FAKE_CALL.search(text) or ("LoweringException" in text and _LOWERED.search(text))
    return _spellings(found["name"]) if found else ()


def _spellings(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((operator(name), plain(name))))


def called_in(traceback: Sequence[str]) -> tuple[str, ...]:
    """The operator that the innermost line of code calls by its full name, in a library's code too."""
    at = max((i for i, line in enumerate(traceback) if 'File "' in line), default=len(traceback))
    found = _STATEMENT.match(traceback[at + 1]) if at + 1 < len(traceback) else None
    return _spellings(found["name"]) if found else ()


def old_call(reason: str) -> tuple[str, ...]:
    """The call that broke the graph, from the reasons of 2.0 to 2.6."""
    if reason.startswith("Tensor.item"):
        return ITEM_NAMES
    if "graph_break in " in reason:
        return ("torch._dynamo.graph_break",)
    if found := _FUNCTION_OBJECT.search(reason):
        return _of_object(found["name"])
    found = _OLD_BUILTIN.search(reason)
    return (found["name"],) if found else ()
