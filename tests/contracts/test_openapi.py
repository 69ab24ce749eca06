"""The OpenAPI document describes what the server does: checked by sending what it allows and what it does not."""

from __future__ import annotations

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from memory.api.route_tags import MEM0
from memos_site.wsgi import application

pytestmark = pytest.mark.django_db(transaction=True)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

# Random cases of each operation, beside those at the bounds of its schema, which are all sent (some fifty on average).
# Without a number they are the same ones every time; `make fuzz` sends others, and many.
EXAMPLES = os.environ.get("MEMOS_EXAMPLES", "")

schema = schemathesis.openapi.from_wsgi("/openapi.json", application)


@pytest.fixture
def token(make_tenant) -> str:
    return make_tenant("any", all_namespaces=True).token


@schema.parametrize()
@settings(
    max_examples=int(EXAMPLES or 15),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=not EXAMPLES,
)
def test_the_server_keeps_to_its_schema(case, token):
    # A wrong body must be refused. Query strings are only refused for what they name: unknown parameters are ignored.
    checks = [*CHECKS, negative_data_rejection] if case.operation.body else CHECKS
    scheme = "Token" if MEM0.name in case.operation.tags else "Bearer"
    case.call_and_validate(headers={"Authorization": f"{scheme} {token}"}, checks=checks)
