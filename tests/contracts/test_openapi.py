"""The OpenAPI document describes what the server does: the tests send allowed and forbidden requests."""

from __future__ import annotations

import os
import re
from zlib import crc32

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis.core import Example
from schemathesis.checks import not_a_server_error
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.hypothesis import builder
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from memory.api.route_tags import MAKERS, MEM0
from memos_site.wsgi import application

pytestmark = pytest.mark.django_db(transaction=True)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

# Number of random cases of each operation, in addition to those at the bounds of its schema, which are all sent.
# Without a number they are the same every time; `make fuzz` sends many others.
EXAMPLES = os.environ.get("MEMOS_EXAMPLES", "")

# Documents of MemOS's own routes, and of routes for other vendors' clients.
DOCUMENTS = [f"/openapi/{maker}.json" if maker else "/openapi.json" for maker in MAKERS]
SCHEMAS = [schemathesis.openapi.from_wsgi(path, application) for path in DOCUMENTS]
OPERATIONS = {one.label: one for schema in SCHEMAS for one in (found.ok() for found in schema.get_all_operations())}
# A filter has some 3,400 cases at its bounds, and one field (FilterField) reads it in all of these operations. So each
# of the filter's cases is sent to one of them, and all other cases to every operation. `make fuzz` sends all cases to
# all operations.
SHARE_FILTER = (
    "POST /v1/answer",
    "POST /v1/answer/stream",
    "POST /v1/chat",
    "POST /v1/chat/stream",
    "POST /v1/query",
    "POST /v1/search",
    "POST /v1/search/batch",
    "POST /v1/why",
    "PATCH /v1/memories",
    "DELETE /v1/memories",
)
OF_FILTER = re.compile(r"\bfilter(?:' value: (?!Example value)| -> )(.*)", re.DOTALL)
assert set(SHARE_FILTER) <= OPERATIONS.keys()
# Marks on operations with omitted cases.
UNTESTED = [
    builder.InvalidHeadersExampleMark,
    builder.InvalidRegexMark,
    builder.MissingPathParameters,
    builder.NonSerializableMark,
    builder.UnsatisfiableExampleMark,
    builder.UnserializablePayloadMark,
]


def read_filter_part(case: schemathesis.Case) -> str:
    """Return which part of a filter a case at the bounds is about, or "" if it is about anything else."""
    description = getattr(case.meta.phase.data, "description", None) if case.meta else None
    described = OF_FILTER.search(description or "")
    return described[1] if described else ""


def take_share(operation: str, cases: list[Example]) -> list[Example]:
    """Return an operation's own cases and its share of the filter's."""
    parts = [read_filter_part(one.kwargs["case"]) for one in cases]
    place = SHARE_FILTER.index(operation)
    mine = [not part or crc32(part.encode()) % len(SHARE_FILTER) == place for part in parts]
    # An operation that no longer has a filter would withhold its share from the others.
    assert sum(bool(part) and own for part, own in zip(parts, mine, strict=True)) > 100
    return [one for one, own in zip(cases, mine, strict=True) if own]


@pytest.fixture(scope="session")
def feedback() -> FeedbackSources:
    """Return the additional sources of random values: constants of the code."""
    return FeedbackSources(constants_value_source=make_constants_value_source(SCHEMAS[0]))


@pytest.fixture
def token(make_tenant) -> str:
    return make_tenant("any", all_namespaces=True).token


# `schema.parametrize()` would make the cases of all operations while tests are collected. In each process that takes 25
# s, and 400 MB until the end of the run.
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_server_keeps_to_its_schema(operation, token, feedback):
    @settings(
        max_examples=int(EXAMPLES or 15),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=not EXAMPLES,
    )
    def check(case):
        # A wrong body must be refused, but a query string may write a number or a yes in several ways.
        checks = [*CHECKS, negative_data_rejection] if case.operation.body else CHECKS
        scheme = "Token" if MEM0.name in case.operation.tags else "Bearer"
        case.call_and_validate(headers={"Authorization": f"{scheme} {token}"}, checks=checks)

    send_cases = build_operation_test(
        config=OPERATIONS[operation].schema.config,
        operation=OPERATIONS[operation],
        test_func=check,
        given_kwargs={},
        feedback=feedback,
    )
    assert [mark for mark in UNTESTED if mark.is_set(send_cases)] == []
    if operation in SHARE_FILTER and not EXAMPLES:
        send_cases.hypothesis_explicit_examples = take_share(operation, send_cases.hypothesis_explicit_examples)
    send_cases()
