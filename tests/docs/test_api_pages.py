"""The pages of fields are generated from the whole schema."""

from __future__ import annotations

import sys

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.docs.pages import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import api_pages as tool


@pytest.fixture(scope="module")
def schema():
    return SchemaGenerator().get_schema(request=None, public=True)


@pytest.fixture(scope="module")
def written(schema):
    return tool.pages(schema)


def test_every_route_has_a_heading_and_a_row(schema, written):
    headings = "\n".join(written.values())
    for path, operations in schema["paths"].items():
        for method in operations:
            assert f"## `{method.upper()} {path}`" in headings
            assert f"[`{method.upper()} {path}`]" in written["index.md"]


def test_a_field_has_its_type_its_limits_and_its_default(written):
    assert "| `top_k` | integer 1..50 (`6`) | Memories to bring back |" in written["ask.md"]
    assert "| `namespace` | string 1..128 | Left out: the key's default namespace |" in written["ask.md"]
    assert "| `raw_chunks[].id` | uuid |" in written["ask.md"]
    assert "`text`, `markdown`" in written["documents.md"]


def test_a_schema_that_holds_itself_ends(written):
    assert "[filters](../filters.md)" in written["ask.md"]
    assert "filter.and" not in written["ask.md"]


def test_a_field_that_may_be_null_says_so_whatever_it_is(written):
    assert "| `as_of` | date-time or null |" in written["ask.md"]
    assert (
        "| `reason` | `nothing_found`, `below_relevance_floor`, `nothing_quotable`, `not_in_sources` or null |"
        in (written["ask.md"])
    )
    assert "| `dropped[].other` | uuid or null |" in written["ask.md"]
    assert "| `remembered` | list of object or null |" in written["ask.md"]


def test_the_fields_of_what_may_be_null_are_listed_too(written):
    assert "| `context_pack.procedural.prompt.text` | string |" in written["ask.md"]
    assert "| `jobs[].progress.done` | integer |" in written["operations.md"]


def test_the_pages_are_in_the_order_of_the_tags(written):
    assert list(written)[:4] == ["index.md", "ingest.md", "ask.md", "openai.md"]


def test_a_tag_that_is_not_listed_has_a_page_too(schema):
    stray = {**schema, "paths": {"/v1/stray": {"get": {"tags": ["A stray"], "responses": {}}}}}

    assert "## `GET /v1/stray`" in tool.pages(stray)["a-stray.md"]


def test_the_navigation_names_the_pages(written):
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = [line.strip(" -") for line in text.splitlines() if "reference/routes/" in line]
    assert sorted(named) == sorted(f"reference/routes/{name}" for name in written)
