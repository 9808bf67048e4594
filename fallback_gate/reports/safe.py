"""Room 7: what log text must lose before anyone shows it. Log text is hostile; one function an output.

A log can hold terminal escapes, text that runs right to left, commands for the CI runner that prints
it, bytes that no XML parser takes, and secrets. Each function here makes one of these harmless and
leaves what was there visible: an escape character becomes the four characters `\\x1b`. Nothing is
dropped in silence, except a secret, which becomes `***`.
"""

from __future__ import annotations

import re
from typing import Final

from fallback_gate.patterns import Pattern

HIDDEN: Final = "***"

# C0, DEL and C1; soft hyphen, Arabic letter mark; zero width and direction marks; line and paragraph
# separators; embeddings, overrides, isolates; byte order mark; interlinear marks; non-characters;
# lone surrogates; tag characters.
_INVISIBLE: Final = (
    "\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_TERMINAL: Final = re.compile(f"[\x00-\x1f{_INVISIBLE}]")
_XML: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# GitHub's `##[group]`, Azure's `##vso[...]`, TeamCity's `##teamcity[...]`: obeyed anywhere in a line.
_RUNNER_ANYWHERE: Final = re.compile(r"##(\w*)\[")
_ATTACHMENT: Final = "[[ATTACHMENT|"  # GitLab reads a path to upload from a test case's output


def _visible(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def terminal(text: str) -> str:
    """One line that a terminal shows and never obeys: no control, direction or invisible character."""
    return _TERMINAL.sub(_visible, text)


def xml(text: str) -> str:
    """Text for XML 1.0: what the format forbids, a parser changes, or a reader can't see becomes visible.

    Line feeds and tabs stay. A carriage return does not: XML parsers turn it into a line feed.
    """
    return _XML.sub(_visible, text).replace(_ATTACHMENT, "[\\[ATTACHMENT|")


def json_text(text: str) -> str:
    """Text for JSON: a lone surrogate, which strict parsers refuse, becomes visible."""
    return _SURROGATE.sub(_visible, text)


def inline(text: str) -> str:
    """Log text inside a line of ours: terminal-safe, redacted, and no runner command in its middle."""
    return _RUNNER_ANYWHERE.sub(r"##\1[\\", terminal(redact(text)))


def log_line(text: str) -> str:
    """An excerpt as a line of its own on standard output or error, which no CI runner obeys.

    Runners take `::name::` at the start of a line, blanks before it ignored, so each excerpt starts
    with a bar; and `##[name]` anywhere, so that form is broken.
    """
    return f"| {inline(text)}"


def shorten(text: str, limit: int) -> str:
    """The text in at most `limit` characters; three dots say that it was cut."""
    if len(text) <= limit:
        return text
    return text[: limit - 3] + "..." if limit > 3 else text[: max(limit, 0)]


_KEY = (
    r"(?:pass(?:word|wd|phrase)|secret(?:[_-]?(?:access[_-]?)?key)?"
    r"|(?:api|access|private|account|auth)[_-]?key)"
)
_NOTHING = r"(?!\*\*\*|(?:None|null|true|false|nil)\b)"
_NUMBER = r"(?![\d.]+(?![\w.+/=~-]))"
_CODE = r"(?![\w.]*[(\[])"  # a call or an index: source code, not a value
_SEPARATOR = r"\\?[\"']?\s{0,8}[=:]\s{0,8}"  # also inside JSON, and JSON inside a JSON string
# A value, in quotes of either form, escaped or not, or bare: three groups hold the opening quote.
_VALUE = (
    r"(?:(\\\")(?:[^\"\\]|\\(?!\")){1,4096}|(\")(?:[^\"\\]|\\.){1,4096}|(')(?:[^'\\]|\\.){1,4096}"
    r"|[^\s\"',;&]{1,4096})"
)
_TOKEN = r"[\w.~+/%=-]"

_SECRETS: Final = (
    # Private keys, to their end or the end of the text.
    (
        Pattern(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)",
            re.S,
        ),
        HIDDEN,
    ),
    # Tokens with a known first part: GitHub, Hugging Face, AWS, GitLab, Slack, OpenAI, NVIDIA, Google,
    # npm, PyPI.
    (
        Pattern(
            r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|hf_[A-Za-z0-9]{16,}"
            r"|(?:AKIA|ASIA)[0-9A-Z]{16}|gl(?:pat|rt|dt)-[\w-]{16,}|xox[abeprs]-[\w-]{10,}"
            r"|sk-(?=[\w-]{0,60}\d)[\w-]{20,}|nvapi-[\w-]{20,}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}"
            r"|pypi-[\w-]{30,})"
        ),
        HIDDEN,
    ),
    # JSON web tokens.
    (Pattern(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), HIDDEN),
    # A user and a password, or a token alone, in a URL.
    (
        Pattern(r"(?<=://)(?:[^\s/?#\"'<>@:]{0,256}:[^\s/?#\"'<>]{1,512}|[^\s/?#\"'<>@:]{20,512})@"),
        f"{HIDDEN}@",
    ),
    # HTTP headers.
    (
        Pattern(
            rf"((?:authorization|x-api-key|cookie){_SEPARATOR}\\?[\"']?)(?!\*\*\*)"
            r"(?:digest\s[^\r\n]{1,4096}|(?:(?:basic|bearer|token|negotiate|apikey)\s{1,8})?[^\s\"'\\]{1,4096})",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    (
        Pattern(
            rf"(\bbearer\s{{1,8}})(?:(?=[^\s\d]{{0,256}}\d){_TOKEN}{{8,4096}}|{_TOKEN}{{20,4096}})", re.I
        ),
        rf"\1{HIDDEN}",
    ),
    # `password=...`, `"api_key": "..."`, `--secret ...`.
    (
        Pattern(rf"({_KEY}{_SEPARATOR}|--{_KEY}\s{{1,8}}){_NOTHING}{_VALUE}", re.I),
        rf"\1\2\3\4{HIDDEN}",
    ),
    (Pattern(rf"(\bpwd=)(?![/\\]|[A-Z]:[/\\]){_VALUE}", re.I), rf"\1\2\3\4{HIDDEN}"),
    # `token=...` and `token: "..."`; a model's log speaks of tokens too, so numbers, marks such as `<s>`
    # and code stay, and a word without digits counts only where nothing stands around the `=`.
    (
        Pattern(
            rf"((?:token=|--[\w-]{{0,30}}token[= ])\\?[\"']?){_NOTHING}{_NUMBER}{_CODE}{_TOKEN}{{4,4096}}",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    (
        Pattern(
            rf"(token{_SEPARATOR}\\?[\"']?){_NOTHING}{_NUMBER}{_CODE}"
            rf"(?={_TOKEN}{{0,256}}\d)(?={_TOKEN}{{0,256}}[A-Z]){_TOKEN}{{12,4096}}",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    # The signature in a signed URL.
    (
        Pattern(
            r"([?&](?:sig|x-amz-(?:signature|security-token|credential)|x-goog-signature)=)[^\s&\"']+", re.I
        ),
        rf"\1{HIDDEN}",
    ),
)
# One cheap look first: nearly no line has any of these, in lower case.
_SUSPECT: Final = (
    *(
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "hf_",
        "akia",
        "asia",
        "glpat-",
        "glrt-",
        "gldt-",
    ),
    *("xox", "sk-", "nvapi-", "aiza", "npm_", "pypi-", "eyj", "://", "-----begin", "password", "passwd"),
    *("passphrase", "secret", "key", "pwd=", "token", "bearer", "authorization", "cookie", "sig"),
)


def redact(text: str) -> str:
    """The text with each thing that looks like a secret replaced by `***`; the name beside it stays."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _SUSPECT):
        return text
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text
