"""Room 7: secrets in log text, which no report may show: tokens, keys, passwords, signatures, home folders.

What is known by its form is found anywhere; the rest by the name beside it. Operator names, addresses,
hashes and sizes look random too, so nothing is masked for its looks alone. A home folder becomes `~`: the
path stays readable, and nobody's name is in it. Scanners that others keep are held against this in the tests;
they take too long to load for a command that starts in a tenth of a second.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from fallback_gate.patterns import Pattern

HIDDEN: Final = "***"
SHORT: Final = 400  # characters: names, hints and reasons, which come again and again

_KEY = (
    r"(?:pass(?:word|wd|phrase)|secret(?:[_-]?(?:access[_-]?)?key)?|session[_-]?token"
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
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.S,
        ),
        HIDDEN,
    ),
    # Tokens with a known first part: GitHub, Hugging Face, AWS, GitLab, Slack, OpenAI, NVIDIA, Google,
    # npm, PyPI, Docker, Databricks, Vault, Weights & Biases, SendGrid, Stripe, Square, Telegram, Groq,
    # Replicate, DigitalOcean, Linear, Atlassian, age, Artifactory.
    (
        Pattern(
            r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|hf_[A-Za-z0-9]{16,}"
            r"|(?:AKIA|ASIA)[0-9A-Z]{16}|gl(?:pat|rt|dt)-[\w-]{16,}|xox[abeprs]-[\w-]{10,}"
            r"|sk-(?=[\w-]{0,60}\d)[\w-]{20,}|nvapi-[\w-]{20,}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}"
            r"|pypi-[\w-]{30,}|ya29\.[\w-]{20,}|dckr_pat_[\w-]{20,}|dapi[0-9a-f]{32}|hvs\.[\w-]{20,}"
            r"|wandb_v1_\w{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|[rs]k_live_[0-9A-Za-z]{16,}"
            r"|api_org_[A-Za-z0-9]{16,}|gsk_[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{30,}|do[opr]_v1_[0-9a-f]{40,}"
            r"|lin_api_[A-Za-z0-9]{30,}|ATATT3[\w=-]{20,}|AGE-SECRET-KEY-1[0-9A-Z]{20,}|AKC[a-zA-Z0-9]{50,}"
            r"|sq0csp-[\w-]{40,}|\d{8,10}:AA[\w-]{33}(?![\w-]))"
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
    # Whoever knows a Slack or Discord web hook's address may write there.
    (
        Pattern(r"(hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)[\w/-]{8,}"),
        rf"\1{HIDDEN}",
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
    # What `docker login` keeps, `curl -u`, and `.netrc`.
    (Pattern(r"(\"auth\"\s{0,8}:\s{0,8}\")[\w+/=]{8,4096}(?=\")"), rf"\1{HIDDEN}"),
    (Pattern(r"((?:^|\s)(?:-u|--user)[ =][^\s:]{1,128}:)[^\s\"']{1,512}"), rf"\1{HIDDEN}"),
    (Pattern(r"(\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8})\S{1,512}", re.I), rf"\1{HIDDEN}"),
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
# Whose home: `/home/NAME`, `/Users/NAME`, `C:\Users\NAME`, as other systems mount them too. A name with
# blanks ends at the next separator.
_SHARED: Final = r"(?:/(?:var|export|nfs|mnt|net|data|gpfs|lustre))?/home"
_HOMES: Final = (
    Pattern(
        r"(?<![\w.-])[A-Za-z]:[\\/]{1,4}Users[\\/]{1,4}(?:[^\\/:*?\"<>|\r\n]{1,64}(?=[\\/])|[\w.-]{1,64})",
        re.I,
    ),
    Pattern(rf"(?:(?<![\w.~-])|(?<=-[A-Z]))(?:{_SHARED}|(?:/mnt)?(?:/[a-z])?/Users)/[\w.@+-]{{1,64}}"),
)
_HOME_HINTS: Final = ("/home/", "users")
# One cheap look first: nearly no line has any of these, in lower case.
_SUSPECT: Final = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "akia", "asia", "glpat-", "glrt-"),
    *("xox", "sk-", "nvapi-", "aiza", "npm_", "pypi-", "eyj", "://", "-----begin", "password", "passwd"),
    *("passphrase", "secret", "key", "pwd=", "token", "bearer", "authorization", "cookie", "sig"),
    *("gldt-", "ya29.", "dckr_pat_", "dapi", "hvs.", "wandb_v1_", "sg.", "k_live_", "sq0csp-", ":aa"),
    *("hooks.slack.com", "/api/webhooks/"),
    *("api_org_", "gsk_", "r8_", "_v1_", "lin_api_", "atatt3", "akc", "\"auth\"", "-u ", "--user", "login"),
)  # fmt: skip


def redact(text: str) -> str:
    """The text with each thing that looks like a secret replaced by `***`; the name beside it stays.

    A home folder becomes `~`.
    """
    return _known(text) if len(text) <= SHORT else _redacted(text)


def _redacted(text: str) -> str:
    lowered = text.lower()
    if any(hint in lowered for hint in _HOME_HINTS):
        for pattern in _HOMES:
            text = pattern.sub("~", text)
    if not any(hint in lowered for hint in _SUSPECT):
        return text
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


_known = lru_cache(maxsize=4_096)(_redacted)
