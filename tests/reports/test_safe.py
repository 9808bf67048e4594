"""Escapes and redaction, against what the terminal, XML 1.0 and the CI runners are known to obey."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fallback_gate.reports import safe

HOSTILE = st.text(
    st.one_of(
        st.characters(),  # surrogates included
        st.sampled_from(
            "\x00\x07\x08\t\n\r\x1b\x7f\x85\x9b\u061c\u200b\u200f\u2028\u202e\u2066\ufeff\ufffe\ud800"
        ),
        st.sampled_from("#[]:|<>&\"'%"),
    )
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain aten::sort", "plain aten::sort"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J", "\\x9b2J"),
        ("a\x00b", "a\\x00b"),
        ("one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("a\u200fb\u061c", "a\\u200fb\\u061c"),
        ("line\u2028end", "line\\u2028end"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\U000e0041"),
        ("größe 演算子 \U0001f680", "größe 演算子 \U0001f680"),
        (r"C:\new\table", r"C:\new\table"),
    ],
)
def test_terminal(text: str, shown: str) -> None:
    assert safe.terminal(text) == shown


@given(HOSTILE)
def test_terminal_obeys_nothing(text: str) -> None:
    shown = safe.terminal(text)
    assert len(shown.splitlines()) <= 1
    for character in shown:
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    shown.encode()
    assert safe.terminal(shown) == shown


@given(HOSTILE)
def test_xml_is_read_back_as_it_was_written(text: str) -> None:
    """What XML 1.0 lets through arrives unchanged; nothing is dropped."""
    written = safe.xml(text)
    element = etree.Element("x", a=written.replace("\n", " ").replace("\t", " "))
    element.text = written
    read = etree.fromstring(etree.tostring(element))
    assert (read.text or "") == written
    assert len(written) >= len(text)


def test_xml_shows_what_the_format_forbids() -> None:
    assert (
        safe.xml("a\x00\x08\x0b\x1b\x0c\ud800\ufffe\r\n\tz")
        == "a\\x00\\x08\\x0b\\x1b\\x0c\\ud800\\ufffe\\r\n\tz"
    )


def test_xml_offers_gitlab_no_attachment() -> None:
    assert not re.search(r"\[\[ATTACHMENT\|", safe.xml("x [[ATTACHMENT|/etc/passwd]] y"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::owned", "| ::error::owned"),
        ("   ::set-output name=a::b", "|    ::set-output name=a::b"),
        ("x ##[error]owned", "| x ##[\\error]owned"),
        ("##vso[task.setvariable variable=a]b", "| ##vso[\\task.setvariable variable=a]b"),
        ("##teamcity[publishArtifacts '/']", "| ##teamcity[\\publishArtifacts '/']"),
        ("a\n::error::b", "| a\\n::error::b"),
        ("token=hunter2hunter2", "| token=***"),
    ],
)
def test_log_line(text: str, shown: str) -> None:
    assert safe.log_line(text) == shown


@given(HOSTILE)
def test_no_runner_obeys_a_log_line(text: str) -> None:
    line = safe.log_line(text)
    assert not line.lstrip().startswith("::")
    assert not re.search(r"##\w*\[(?!\\)", line)
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("pushed with ghp_" + "a1B2" * 9, "pushed with ***"),
        ("gho_" + "a1B2" * 9 + ".", "***."),
        ("github_pat_" + "11ABCDEFG0" * 8, "***"),
        ("login hf_" + "AbCd" * 8, "login ***"),
        ("id AKIAIOSFODNN7EXAMPLE", "id ***"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=***"),
        ("Authorization: Bearer abcdef", "Authorization: ***"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: ***"),
        ("-H 'Authorization: token abc' https://x", "-H 'Authorization: ***' https://x"),
        ('{"Authorization": "Bearer abc.def"}', '{"Authorization": "***"}'),
        ("sent bearer a1b2c3d4e5", "sent bearer ***"),
        ("password=hunter2", "password=***"),
        ("DB_PASSWORD = 'two words'", "DB_PASSWORD = '***'"),
        ('"password": "hunter2",', '"password": "***",'),
        (r"{\"password\": \"hunter2\", \"a\": 1}", r"{\"password\": \"***\", \"a\": 1}"),
        (r'"password": "a\"b\\c"', '"password": "***"'),
        ("password: 123456", "password: ***"),
        ("token='abcdefgh1234'", "token='***'"),
        ('"token": "abcdefgh1234"', '"token": "***"'),
        ("Authorization: Digest username=a, response=b", "Authorization: ***"),
        ("--password hunter2 --rank 0", "--password *** --rank 0"),
        ("token=abcdefgh next", "token=*** next"),
        ("HF_TOKEN=abcdefgh", "HF_TOKEN=***"),
        ("api_key=abc123", "api_key=***"),
        ("apikey: abc123", "apikey: ***"),
        ("https://user:pass@host/x", "https://***@host/x"),
        ("http://user:p@ss@proxy:3128", "http://***@proxy:3128"),
        ("git+https://ghp_0123456789abcdefghij@github.com/a/b", "git+https://***@github.com/a/b"),
        ("postgres://:pw@db", "postgres://***@db"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF", "***"),
        ("s3://b/o?X-Amz-Signature=0123abcd&x=1", "s3://b/o?X-Amz-Signature=***&x=1"),
        ("k: -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- end", "k: *** end"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "***"),
        ("pwd=hunter2;uid=sa", "pwd=***;uid=sa"),
    ],
)
def test_redact(text: str, left: str) -> None:
    assert safe.redact(text) == left
    assert safe.redact(left) == left


@pytest.mark.parametrize(
    "line",
    [
        "V1130 00:40:28.873000 1495 symbolic_convert.py:5127] [0/0] [__graph_breaks] Graph break in user code",
        "Using FallbackKernel: torch.ops.aten.sort.stable",
        "num_tokens=128, max_new_tokens: 64, eos_token_id=2, pad_token='<pad>', bos_token=<s>, token=5",
        "next_token = torch.argmax(logits, dim=-1)",
        "next_token = self.sample(logits)",
        "tokens_per_sec: 977.3 token: 12345678",
        "use_auth_token=None, token=False",
        "def forward(self, token: torch.Tensor, key: torch.Tensor) -> torch.Tensor:",
        "key=value cache_key=fxk7c2 hash_key: 0xdeadbeef",
        "fx graph cache hit for key f3h2k5jx7o3q2v6w4z5y",
        "attention(query, key, value, mask=None)",
        "PWD=/app/moe",
        "https://docs.pytorch.org/docs/stable/torch.compiler_faq.html#graph-breaks",
        "git clone ssh://git@github.com/a/b",
        "tcp://10.0.0.1:29500 rank 3",
        "grpc://host:8471/path@v2",
        "Basic block 3 has a bearer of standing load",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "task-scheduling-with-a-long-name-0 disk-based-cache-entry-0001",
        "self_attn.hf_attention_forward(hidden_states)",
        "secretary problem, tokenizer=fast, author=Ada",
        "cookiecutter: signature mismatch sig=(f32, f32)",
    ],
)
def test_redact_leaves_a_normal_line(line: str) -> None:
    assert safe.redact(line) == line


@pytest.mark.parametrize(
    "seed",
    [
        "token",
        "password=",
        "://a:",
        "eyJaaaaaaaa.",
        "bearer ",
        "-----BEGIN ",
        "gh",
        "key '",
        "--a-token",
        "sk-a",
    ],
)
def test_redact_takes_linear_time(seed: str) -> None:
    started = time.process_time()
    safe.redact(seed * (200_000 // len(seed)))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc..."),
        ("abcdef", 2, "ab"),
        ("a", 0, ""),
        ("a ##[\\error] b", 8, "a ##..."),
    ],
)
def test_shorten(text: str, limit: int, cut: str) -> None:
    assert safe.shorten(text, limit) == cut


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@sum(a1)", "'@sum(a1)"),
        ("aten::mm", "aten::mm"),
        ("a\nb", "a\\nb"),
        ("", ""),
    ],
)
def test_a_spreadsheet_finds_no_formula(text: str, cell: str) -> None:
    assert safe.csv_cell(text) == cell
