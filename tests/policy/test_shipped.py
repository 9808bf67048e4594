"""Room 5: the shipped policies, and the schema that editors read."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fallback_gate.errors import PolicyError
from fallback_gate.model import Class, Kind, Scope
from fallback_gate.model.measures import QUANTITIES, SETTINGS
from fallback_gate.policy import cases, checks, entry, judge, load, messages, sheet, shipped

from .make import OURS, TODAY, event, written

ROOT = Path(__file__).resolve().parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "fallback_gate" / "policy" / "schema.json").read_text("utf-8"))
DEFINITIONS: dict[str, Any] = SCHEMA["definitions"]
LIMITS = SCHEMA["properties"]["instruments"]["properties"]
ALL = ("llm-decode", "llm-serving", "moe-serving", "strict", "training", "vision")


def test_the_names() -> None:
    assert shipped.names() == ALL


@pytest.mark.parametrize("name", ALL)
def test_each_is_valid_by_name_and_by_path(name: str) -> None:
    by_name = load(f"builtin:{name}", TODAY)
    assert by_name.name == name
    assert by_name.summary.path == f"builtin:{name}"
    by_path = load(str(ROOT / "policies" / f"{name}.yaml"), TODAY)
    assert (by_path.name, by_path.summary.sha256) == (name, by_name.summary.sha256)
    assert len(by_path.hot) == len(by_name.hot)
    assert all(one.reason for one in by_name.cold)
    assert all(one.why for one in by_name.hot)


@pytest.mark.parametrize("name", ALL)
def test_each_says_whom_it_is_for_and_names_its_schema(name: str) -> None:
    first, *rest = (ROOT / "policies" / f"{name}.yaml").read_text("utf-8").splitlines()
    schema = first.removeprefix("# yaml-language-server: $schema=")
    assert (ROOT / "policies" / schema).resolve() == ROOT / "fallback_gate" / "policy" / "schema.json"
    assert any(line.startswith("# For whom: ") for line in rest)


def test_a_changed_copy_is_a_users_file(tmp_path: Path) -> None:
    text = shipped.content("vision").decode()
    load(written(tmp_path, text), TODAY)
    path = tmp_path / "windows.yaml"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    load(str(path), TODAY)
    with pytest.raises(PolicyError, match="owner is missing"):
        load(written(tmp_path, text + "# mine\n"), TODAY)


def fallback(op: str, **said: Any) -> Any:
    return event(op, names=(f"torch.ops.{op.replace('::', '.')}.default",), **said)


@pytest.mark.parametrize("policy", ["llm-decode", "moe-serving", "training", "vision"])
@pytest.mark.parametrize(
    "op", ["aten::topk", "aten::sort", "aten::histc", "aten::_scaled_dot_product_flash_attention"]
)
def test_what_inductor_hands_over_on_purpose_is_cold(policy: str, op: str) -> None:
    rules = load(f"builtin:{policy}", TODAY)
    assert judge(fallback(op), rules, TODAY).event_class is Class.COLD
    assert judge(fallback(op, kind=Kind.DEVICE_FALLBACK), rules, TODAY).event_class is not Class.COLD


BREAK: dict[str, Any] = {"kind": Kind.GRAPH_BREAK, "scope": Scope.SITE}
FRAME: dict[str, Any] = {"kind": Kind.EAGER_FRAME, "scope": Scope.REGION}


@pytest.mark.parametrize(
    ("policy", "subject"),
    [
        ("llm-decode", event("gate_attn", **BREAK)),
        ("llm-decode", event("gate_attn_disable", **BREAK)),
        ("llm-decode", event("moe::gate_attn")),
        ("llm-decode", event("aten::mm", kind=Kind.DEVICE_FALLBACK)),
        ("llm-decode", event("aten::index_put_")),
        ("llm-decode", event("scaled_dot_product_attention", kind=Kind.SLOWER_KERNEL)),
        ("llm-decode", event("flex_attention", kind=Kind.SLOWER_KERNEL)),
        ("llm-decode", event("f", stack=("f", "GatedAttention.forward"), **BREAK)),
        ("llm-decode", event("Decoder.decode_step", **FRAME)),
        ("llm-decode", event("apply_rotary_emb", **BREAK)),
        ("moe-serving", event("gate_attn", **BREAK)),
        ("moe-serving", event("moe_loop", **BREAK)),
        ("moe-serving", event("aten::_grouped_mm")),
        ("moe-serving", event("fused_moe", kind=Kind.UNTUNED_CONFIG)),
        ("training", event("cross_entropy", **BREAK)),
        ("training", event("aten::nll_loss_backward")),
        ("vision", event("aten::grid_sampler_2d", kind=Kind.DEVICE_FALLBACK)),
        ("vision", event("torchvision::nms", kind=Kind.DEVICE_FALLBACK)),
        ("vision", event("Conv", kind=Kind.DEVICE_FALLBACK)),
    ],
)
def test_hot(policy: str, subject: Any) -> None:
    assert judge(subject, load(f"builtin:{policy}", TODAY), TODAY).event_class is Class.HOT


@pytest.mark.parametrize("policy", ALL)
def test_what_nobody_names_blocks(policy: str) -> None:
    found = judge(event("properties", **BREAK), load(f"builtin:{policy}", TODAY), TODAY)
    assert (found.event_class, found.decision.value) == (Class.UNLISTED, "blocked")


def test_a_team_builds_on_a_shipped_policy(tmp_path: Path) -> None:
    text = f"""
    version: 1
    extends: ["builtin:llm-decode"]
    unhot: [{{op: "aten::embedding", {OURS}}}]
    """
    rules = load(written(tmp_path, text), TODAY)
    assert judge(fallback("aten::embedding"), rules, TODAY).event_class is Class.UNLISTED
    assert judge(fallback("aten::topk"), rules, TODAY).event_class is Class.COLD
    assert rules.hot[0].rule.source.startswith("builtin:llm-decode:")


def test_the_schema_is_valid_and_has_a_version() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == f"urn:fallback-gate:policy:{sheet.VERSION}"
    assert SCHEMA["properties"]["version"]["const"] == sheet.VERSION


@pytest.mark.parametrize(
    ("known", "properties"),
    [
        (sheet.KEYS, SCHEMA["properties"]),
        (sheet.HOT_KEYS, DEFINITIONS["hot"]["properties"]),
        (sheet.UNHOT_KEYS, DEFINITIONS["unhot"]["properties"]),
        (sheet.COLD_KEYS, DEFINITIONS["cold"]["properties"]),
        (sheet.BUDGET_KEYS, SCHEMA["properties"]["budgets"]["properties"]),
        (sheet.PROOF_KEYS, SCHEMA["properties"]["proof"]["properties"]),
        (sheet.EXPECT_KEYS, SCHEMA["properties"]["expect"]["properties"]),
        (messages.RULE_KEYS, DEFINITIONS["rule"]["properties"]),
        (messages.MARKER_KEYS, DEFINITIONS["marker"]["properties"]),
        (checks.KINDS, DEFINITIONS["kind"]["enum"]),
        (messages.SCOPES, DEFINITIONS["rule"]["properties"]["scope"]["enum"]),
        (sheet.UNLISTED, SCHEMA["properties"]["unlisted"]["anyOf"][0]["enum"]),
        (cases.KEYS, DEFINITIONS["case"]["properties"]),
        (cases.VERDICTS, DEFINITIONS["case"]["properties"]["verdict"]["enum"]),
        (QUANTITIES, SCHEMA["properties"]["instruments"]["properties"]),
        (QUANTITIES, SCHEMA["properties"]["expect"]["properties"]["instruments"]["items"]["enum"]),
        *(
            ({**known, **SETTINGS.get(name, {})}, LIMITS[name]["properties"])
            for name, known in QUANTITIES.items()
        ),
        (
            {*entry.MATCH_KEYS, "share_of_step"},
            list(chain(*(one["required"] for one in DEFINITIONS["hot"]["anyOf"]))),
        ),
    ],
)
def test_the_schema_knows_what_the_loader_knows(known: Any, properties: Any) -> None:
    assert set(known) == set(properties)


@pytest.mark.parametrize("name", ALL)
def test_the_schema_accepts_each_shipped_policy(name: str) -> None:
    jsonschema.validate(yaml.load(shipped.content(name), Loader=yaml.BaseLoader) | {"version": 1}, SCHEMA)


FULL: dict[str, Any] = {
    "version": 1,
    "extends": ["builtin:strict"],
    "unlisted": "warn",
    "hot": [{"op": ["a", "b"], "why": "w"}],
    "unhot": [{"op": "x", "reason": "r", "owner": "o", "expires": "2027-03-31"}],
    "cold": [
        {
            "op": "c",
            "kinds": "op_fallback",
            "reason": "r",
            "owner": "o",
            "expires": "2027-03-31",
            "max_count": 0,
        }
    ],
    "budgets": {"events": 0},
    "proof": {"required": ["graph_break"], "accept_unobservable": []},
    "expect": {"compilers": ["x"], "ranks": 1},
    "logs": ["*.log"],
    "rules": [
        {
            **{"id": "i", "compiler": "c", "anchor": "said so", "pattern": "said so (?P<op>\\w+)"},
            **{
                "kind": "op_fallback",
                "scope": "operator",
                "matches": ["said so x"],
                "ignores": ["said so -"],
                "meaning": "it said so",
                "next": "ask",
            },
        },
        {
            "id": "m",
            "compiler": "c",
            "anchor": "the end",
            "pattern": "the end",
            "ends": True,
            "matches": ["the end"],
        },
        {
            **{"id": "b", "compiler": "c", "anchor": "the start", "pattern": "the start"},
            **{"starts": True, "matches": ["the start"], "meaning": "it began"},
        },
    ],
    "tests": [
        {"name": "t", "logs": ["*.log"], "verdict": "pass", "today": "2026-12-01", "allowed": "c"},
        {"name": "u", "text": "said so x", "verdict": "blocked", "blocked": ["x"]},
    ],
}

WRONG: list[tuple[tuple[Any, ...], Any]] = [
    (("version",), 2),
    (("nam",), "x"),
    (("extends",), "builtin:strict"),
    (("unlisted",), "no"),
    (("hot",), [{}]),
    (("hot",), [{"why": "w"}]),
    (("hot", 0, "op"), []),
    (("hot", 0, "op"), 3),
    (("hot", 0, "owner"), "o"),
    (("cold", 0, "max_count"), -1),
    (("cold", 0, "max_count"), "2"),
    (("cold", 0, "expires"), "2027-3-1"),
    (("budgets", "breaks"), 1),
    (("budgets", "events"), 1.5),
    (("proof", "required"), ["breaks"]),
    (("expect", "ranks"), 0),
    (("logs",), "x.log"),
    (("rules", 0, "anchor"), "abc"),
    (("rules", 0, "scope"), "all"),
    (("rules", 0, "matches"), []),
    (("rules", 1, "kind"), "op_fallback"),
    (("rules", 1, "ends"), "yes"),
    (("rules", 1, "next"), "ask"),
    (("rules", 0, "meaning"), " "),
    (("rules", 2, "starts"), 1),
    (("tests", 0, "text"), "both"),
    (("tests", 0, "verdict"), "waived"),
    (("tests", 0, "logs"), []),
    (("tests", 1, "blocked"), []),
    (("tests", 1, "name"), ""),
    (("tests",), {}),
]


def test_schema_and_loader_accept_the_same(tmp_path: Path) -> None:
    jsonschema.validate(FULL, SCHEMA)
    load(written(tmp_path, json.dumps(FULL)), TODAY)


@pytest.mark.parametrize(("where", "value"), WRONG)
def test_schema_and_loader_refuse_the_same(tmp_path: Path, where: tuple[Any, ...], value: Any) -> None:
    broken: Any = json.loads(json.dumps(FULL))
    inner = broken
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)
    with pytest.raises(PolicyError):
        load(written(tmp_path, json.dumps(broken)), TODAY)
