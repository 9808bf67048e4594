"""The environment record: what is read back, what runs have in common, what is wrong, what changed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.model.environment import (
    Cache,
    Changed,
    Environment,
    Version,
    as_data,
    changes,
    joined,
    read,
    warnings,
    when,
)

TORCH = Version("torch", "2.11.0+cu130", "2026-11-20T10:00:00+00:00")
OLD = Cache(
    "triton",
    "/var/cache/triton",
    "TRITON_CACHE_DIR",
    40,
    "2026-10-01T00:00:00+00:00",
    "2026-11-29T00:00:00+00:00",
    12,
    "torch",
)
WHOLE = Environment(
    ("NVIDIA H200",), (Version("nvidia", "580.159.04"),), (TORCH,), (OLD,), ("Linux",), ("a.log",)
)


def test_it_is_read_as_it_is_written() -> None:
    assert read(json.loads(json.dumps(as_data(WHOLE))), "a.log") == WHOLE


VALUES: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["devices", "drivers", "compilers", "caches", "name", "version", "path", "files", "oldest"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)


@given(VALUES)
def test_anything_is_read(value: object) -> None:
    found = read(value, "x")
    list(warnings(found))
    assert read(as_data(found), "x") == found


def test_an_older_header_has_packages_by_name() -> None:
    assert read({"compilers": {"torch": "2.9.1", "triton": None}}, "").compilers == (
        Version("torch", "2.9.1"),
    )


def test_a_cached_artefact_that_is_older_than_its_compiler() -> None:
    (told,) = warnings(WHOLE)
    assert (
        "12 of 40 files older than torch 2.11.0+cu130: the oldest is of 2026-10-01, the package came on 2026-11-20"
        in told
    )
    assert "/var/cache/triton (TRITON_CACHE_DIR)" in told
    for cache in (
        OLD._replace(oldest="2026-11-20T10:00:00+00:00"),
        OLD._replace(of=None),
        OLD._replace(oldest="?"),
    ):
        assert not list(warnings(WHOLE._replace(caches=(cache,))))


def test_ranks_that_differ_are_told() -> None:
    other = Environment(compilers=(TORCH._replace(version="2.10.0"),), drivers=(Version("nvidia", "570.1"),))
    both = joined([WHOLE._replace(caches=()), other])
    assert both is not None
    assert list(warnings(both)) == [
        "the driver nvidia differs within the run: 580.159.04, 570.1",
        "the package torch differs within the run: 2.11.0+cu130, 2.10.0",
    ]
    assert joined([Environment(), Environment()]) is None


def test_changes() -> None:
    new = Environment(
        ("NVIDIA H200",),
        (Version("nvidia", "590.1"),),
        (Version("torch", "2.12.0"), Version("triton", "3.7")),
    )
    assert changes(WHOLE, new) == (
        Changed("platform", "Linux", None),
        Changed("driver nvidia", "580.159.04", "590.1"),
        Changed("torch", "2.11.0+cu130", "2.12.0"),
        Changed("triton", None, "3.7"),
    )
    assert changes(WHOLE, None) == changes(None, new) == changes(WHOLE, WHOLE) == ()


def test_times_are_utc_where_none_is_told() -> None:
    assert when("2026-11-20T10:00:00") == when("2026-11-20T10:00:00+00:00")
    assert when("yesterday") is None
