"""Masking, against a scanner that others keep, and against real logs, of which nothing may be masked."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from detect_secrets.plugins import (
    aws,
    azure_storage_key,
    basic_auth,
    github_token,
    gitlab_token,
    jwt,
    npm,
    openai,
    private_key,
    pypi_token,
    sendgrid,
    slack,
    square_oauth,
    stripe,
    telegram_token,
)  # fmt: skip

from fallback_gate.compilers import READERS
from fallback_gate.reports import safe

SAMPLES = Path(__file__).parents[2] / "sample_logs"
SCANNERS = (
    aws.AWSKeyDetector(), azure_storage_key.AzureStorageKeyDetector(), basic_auth.BasicAuthDetector(),
    github_token.GitHubTokenDetector(), gitlab_token.GitLabTokenDetector(), jwt.JwtTokenDetector(), npm.NpmDetector(),
    openai.OpenAIDetector(), private_key.PrivateKeyDetector(), pypi_token.PypiTokenDetector(),
    sendgrid.SendGridDetector(), slack.SlackDetector(), square_oauth.SquareOAuthDetector(), stripe.StripeDetector(),
    telegram_token.TelegramBotTokenDetector(),
)  # fmt: skip
LEAKS = (
    "id AKIAIOSFODNN7EXAMPLE", "push ghp_" + "a1B2" * 9, "ci glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "AccountName=x;AccountKey=lJzRc1YdHaAA2KCNJJ1tkYwF/+mKK6Ygw0NGe170Xu592euJv2wYUtBlV8z+qnlcNQSnIYVTkLWntUO1F8j8rQ==",
    "via https://user:hunter2@proxy:3128/", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlc2ln",
    "//registry.npmjs.org/:_authToken=npm_" + "a1B2" * 9, "sk-" + "a1B2" * 5 + "T3BlbkFJ" + "a1B2" * 5,
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE", "SG." + "a1B2c3" * 3 + "abcd." + "a1B2" * 10 + "abc",
    "xoxb-123456789012-123456789012-" + "a1B2" * 6,
    "https://hooks.slack.com/services/T00000000/B00000000/" + "X1" * 12,
    "sq0csp-" + "a1B2c3-" * 6 + "x", "rk_live_" + "a1B2" * 6, "bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0",
)  # fmt: skip


def found(text: str) -> list[str]:
    """What the scanner sees."""
    return [secret for scanner in SCANNERS for secret in scanner.analyze_string(text)]


@pytest.mark.parametrize("leak", LEAKS)
def test_what_the_scanner_sees_is_masked(leak: str) -> None:
    assert found(leak), "the scanner must see it, or this proves nothing"
    assert found(safe.redact(leak)) == []
    assert found(safe.inline(f"x {leak} y")) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("login hf_" + "AbCd" * 8, "login ***"),
        ("docker dckr_pat_" + "a1B2" * 6, "docker ***"),
        ("dapi" + "0123456789abcdef" * 2, "***"),
        ("VAULT hvs." + "a1B2" * 8, "VAULT ***"),
        ("ya29." + "a1B2-" * 8, "***"),
        ("wandb_v1_" + "a1B2" * 8, "***"),
        ("https://discord.com/api/webhooks/123456/abc-DEF", "https://discord.com/api/webhooks/***"),
        ("org api_org_" + "AbCd" * 8, "org ***"),
        ("gsk_" + "a1B2" * 12, "***"),
        ("r8_" + "a1B2" * 9, "***"),
        ("dop_v1_" + "a1" * 32, "***"),
        ("lin_api_" + "a1B2" * 10, "***"),
        ("ATATT3xFfGF0" + "a1B2_" * 30, "***"),
        ("AGE-SECRET-KEY-1" + "QPZRY9X8" * 7, "***"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK----- x", "*** x"),
        ("aws_session_token = FwoGZXIvYXdzEBYaD", "aws_session_token = ***"),
        ('{"auths": {"r.io": {"auth": "dXNlcjpwYXNzd29yZA=="}}}', '{"auths": {"r.io": {"auth": "***"}}}'),
        ("curl -u me:hunter2 https://x", "curl -u me:*** https://x"),
        ("machine x login me password hunter2", "machine x login me password ***"),
    ],
)
def test_other_tokens_with_a_known_form(text: str, left: str) -> None:
    assert safe.redact(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/alice/src/model.py:12", "~/src/model.py:12"),
        ("at /home/alice", "at ~"),
        ("in '/Users/a.lice-2/x y/m.py'", "in '~/x y/m.py'"),
        ("file:///home/alice/m.py", "file://~/m.py"),
        (r"C:\Users\alice\src\m.py", r"~\src\m.py"),
        (r'"C:\\Users\\Alice Smith\\m.py"', r'"~\\m.py"'),
        ("c:/users/alice/m.py", "~/m.py"),
        ("/mnt/c/Users/alice/m.py", "~/m.py"),
        ("/c/Users/alice/m.py", "~/m.py"),
        ("/nfs/home/alice/m.py", "~/m.py"),
        ("PATH=/home/a/bin:/home/b/bin", "PATH=~/bin:~/bin"),
        ("-I/home/alice/include", "-I~/include"),
        ("/opt/rocm/home/x", "/opt/rocm/home/x"),
        ("https://example.com/home/page", "https://example.com/home/page"),
        ("/workspace/model.py", "/workspace/model.py"),
        ("users of the cache", "users of the cache"),
    ],
)
def test_whose_home_it_is(text: str, left: str) -> None:
    assert safe.redact(text) == left
    assert safe.redact(left) == left


@pytest.mark.parametrize(
    "log", sorted(filter(Path.is_file, SAMPLES.rglob("*.log*"))), ids=lambda log: log.name
)
def test_nothing_in_a_real_log_is_masked(log: Path) -> None:
    opened = gzip.open if log.suffix == ".gz" else open
    with opened(log, "rt", encoding="utf-8", errors="replace") as lines:
        printed = (
            line for line in lines if not line.startswith('{"fallback_gate_')
        )  # a seal's number is masked
        assert [line for line in printed if safe.redact(line) != line] == []


def test_no_line_that_a_rule_knows_is_masked() -> None:
    lines = [line for reader in READERS.values() for entry in reader.entries for line in entry.matches]
    assert len(lines) > 500
    changed = {line: safe.redact(line) for line in lines if safe.redact(line) != line}
    assert [line for line, left in changed.items() if left != re.sub(r"/home/\w+/", "~/", line)] == []
