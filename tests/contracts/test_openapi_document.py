"""The OpenAPI document is valid, names everything in it, and its examples can be tried out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import orjson
import pytest
from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from openapi_spec_validator import OpenAPIV31SpecValidator

from memory.api.examples import NAMESPACE, REQUESTS
from memory.api.route_tags import MAKER_OF, MAKERS, MEM0, ROUTE_TAGS
from memory.api.views.openapi import build_document, build_whole
from memory.demo.seed import seed_demo_namespace
from memory.enums import Degradation, ErrorCode
from memory.errors import AuditBroken, BackupError, MemosError
from memory.types import system_access
from tests.answer_contract import list_faults

METHODS = ("get", "post", "put", "patch", "delete")
# Errors of commands, which no route returns.
OF_COMMANDS = (AuditBroken, BackupError)


@pytest.fixture(scope="module")
def document():
    """Return the document of every route, including other vendors' APIs."""
    return orjson.loads(orjson.dumps(build_whole()))


@pytest.fixture
def demo(make_tenant):
    """Return a key of the demo namespace, with its conversations."""
    tenant = make_tenant(NAMESPACE)
    seed_demo_namespace(system_access("tests"), namespace=NAMESPACE, now=timezone.now())
    return tenant


def operations(document) -> Iterator[tuple[str, str, dict]]:
    for path, described in document["paths"].items():
        yield from ((method, path, described[method]) for method in METHODS if method in described)


def successes(operation: dict) -> list[tuple[str, dict]]:
    return [(status, answer) for status, answer in operation["responses"].items() if status.startswith("2")]


@pytest.mark.parametrize("maker", MAKERS)
def test_each_document_is_valid_openapi_3_1(client, maker):
    document = client.get(f"/openapi/{maker}.json" if maker else "/openapi.json").json()

    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_each_route_stands_in_the_document_of_its_maker_alone(document):
    parts = {maker: build_document(maker) for maker in MAKERS}
    found = [(method, path) for part in parts.values() for method, path, _ in operations(part)]

    assert sorted(found) == sorted((method, path) for method, path, _ in operations(document))
    for maker, part in parts.items():
        assert {MAKER_OF[operation["tags"][0]] for _, _, operation in operations(part)} == {maker}
        assert [tag["name"] for tag in part["tags"]] == [tag.name for tag in ROUTE_TAGS if tag.maker == maker]
    assert not [name for name in parts[""]["components"]["schemas"] if name.startswith(("MemTensor", "OpenAI", "Mem0"))]


@pytest.mark.parametrize("maker", MAKERS)
def test_each_document_has_a_page_that_leads_to_the_others(client, maker):
    page = client.get(f"/docs/{maker}" if maker else "/docs").content.decode()

    assert f'href="/openapi{f"/{maker}" if maker else ""}.json"' in page
    assert all(f'href="/docs/{other}"' in page for other in MAKERS if other)
    assert '<label class="docs-filter">' in page


def test_a_refusal_is_described_once(document):
    for method, path, operation in operations(document):
        for status, answer in operation["responses"].items():
            if status in ("400", "401", "403", "429", "500"):
                assert set(answer) == {"$ref"}, f"{method} {path}: {status}"


def test_a_request_is_closed_where_unknown_fields_are_refused(document):
    schemas = document["components"]["schemas"]

    assert schemas["QueryRequest"]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["AddMemoriesRequest"]
    assert schemas["MessageRequest"]["additionalProperties"] == {}


def test_it_is_made_without_a_doubt():
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        SchemaGenerator().get_schema(request=None, public=True)
        assert not GENERATOR_STATS, {**GENERATOR_STATS._warn_cache, **GENERATOR_STATS._error_cache}


def test_nothing_of_openapi_3_0_is_left(document):
    assert b'"nullable"' not in orjson.dumps(document)


def test_the_tags_stand_in_the_order_in_which_readers_need_them(document):
    assert [tag["name"] for tag in document["tags"]] == [tag.name for tag in ROUTE_TAGS]
    used = {operation["tags"][0] for _, _, operation in operations(document)}
    assert {tag.name for tag in ROUTE_TAGS} <= used


def test_every_operation_has_a_name_a_summary_and_answers_in_json_or_as_a_stream(document):
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    for method, path, operation in operations(document):
        assert operation["summary"], f"{method} {path}"
        assert [answer for status, answer in successes(operation) if "content" in answer or status == "204"], path


def test_listings_are_objects_as_they_are_sent(document):
    for method, path, operation in operations(document):
        # mem0's clients expect the answers of mem0's API.
        if MEM0.name in operation["tags"]:
            continue
        for _, answer in successes(operation):
            schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
            assert schema.get("type") != "array", f"{method} {path}"


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ("Answer", "context_pack"),
        ("ContextPack", "manifest"),
        ("ContextPack", "procedural"),
        ("Chunk", "metadata"),
        ("Explanation", "arms"),
        ("Dropped", "arms"),
        ("Diagnosis", "details"),
        ("Diagnosis", "parts"),
    ],
)
def test_what_says_why_is_typed(document, schema, field):
    schemas = document["components"]["schemas"]
    described = schemas[schema]["properties"][field]
    named = described.get("$ref") or described["allOf"][0]["$ref"]

    assert schemas[named.rpartition("/")[2]]["properties"]


def test_codes_are_enumerations(document):
    schemas = document["components"]["schemas"]

    assert schemas["ErrorCodeEnum"]["enum"] == ErrorCode.values
    assert schemas["DegradationEnum"]["enum"] == Degradation.values
    for name, schema in schemas.items():
        if degraded := schema.get("properties", {}).get("degraded"):
            assert degraded["items"] == {"$ref": "#/components/schemas/DegradationEnum"}, name


def kinds_of(error: type[MemosError]) -> Iterator[type[MemosError]]:
    yield error
    for kind in error.__subclasses__():
        yield from kinds_of(kind)


@pytest.mark.parametrize(
    "error",
    [kind for kind in kinds_of(MemosError) if not issubclass(kind, OF_COMMANDS)],
    ids=lambda kind: kind.__name__,
)
def test_the_code_of_every_error_is_one_of_them(error):
    assert error.code in ErrorCode.values


def test_a_refusal_is_named_where_it_can_be_met(document):
    paths = document["paths"]
    shared = document["components"]["responses"]

    assert "401" not in paths["/health"]["get"]["responses"]
    assert {"400", "401", "403", "404", "409", "413", "415", "429", "500", "503"} <= set(
        paths["/v1/ingest"]["post"]["responses"]
    )
    assert "412" not in paths["/v1/ingest"]["post"]["responses"]
    assert "412" in paths["/v1/memories/{memory_id}"]["patch"]["responses"]
    assert paths["/v1/query"]["post"]["responses"]["429"] == {"$ref": "#/components/responses/Error429"}
    assert "Retry-After" in shared["Error429"]["headers"]


def test_the_routes_of_another_api_describe_its_errors(document):
    named = document["paths"]["/v1/chat/completions"]["post"]["responses"]["401"]["$ref"].rpartition("/")[2]
    refusal = document["components"]["responses"][named]["content"]["application/json"]

    assert refusal["schema"] == {"$ref": "#/components/schemas/OpenAIError"}


def shown(document) -> dict[str, tuple[str, str, dict]]:
    """Return the examples of the document by operation and name: method, path and body."""
    return {
        f"{operation['operationId']}: {name}": (method, path, example["value"])
        for method, path, operation in operations(document)
        for body in operation.get("requestBody", {}).get("content", {}).values()
        for name, example in body.get("examples", {}).items()
    }


def test_every_example_is_shown(document):
    assert len(shown(document)) == sum(len(examples) for examples in REQUESTS.values())
    (namespace,) = [one for one in document["paths"]["/v1/entities"]["get"]["parameters"] if one["name"] == "namespace"]
    assert namespace["example"] == NAMESPACE


# Completions need a language model.
TRIED = sorted(name for name in shown(orjson.loads(orjson.dumps(build_whole()))) if "chat_completions" not in name)


@pytest.mark.parametrize("name", TRIED)
def test_every_example_does_something_in_the_demo(document, demo, name):
    _, path, body = shown(document)[name]
    response = demo.post(path, body)

    assert response.status_code == 200
    if response.streaming:
        assert b'"citations":[{' in b"".join(response)
        return
    answer = response.json()
    assert answer.get("answerable", True)
    assert not answer.get("abstained", False)
    assert answer.get("accepted", True)
    assert answer.get("found", 1)
    assert answer.get("results", ["not a list"])
    assert answer.get("deleted_counts", {"memories": 1})["memories"]


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/policy"])
def test_a_listing_that_is_tried_out_finds_something(demo, path):
    answer = demo.get(path, namespace=NAMESPACE).json()

    assert any(answer[name] for name in ("memories", "values") if name in answer)


def test_an_example_is_a_request_that_the_document_allows(document):
    for name, (method, path, body) in shown(document).items():
        schema = document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
        whole = {**schema, "components": document["components"]}
        assert jsonschema_rs.is_valid(whole, body), name


def faults(method: str, path: str, response: HttpResponse, body: str = "") -> list[str]:
    return list(list_faults(method, path, body, response))


OK = {"status": "ok"}


def test_an_answer_as_it_is_described_has_no_fault():
    assert faults("GET", "/health", JsonResponse(OK)) == []


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (JsonResponse({"status": "fine"}), '"fine"'),
        (JsonResponse({}), "required"),
        (JsonResponse(OK | {"more": 1}), "more"),
        (JsonResponse(OK, status=418), "no such status"),
        (HttpResponse("ok", content_type="text/plain"), "'text/plain'"),
        (JsonResponse({"error": {"code": "of_no_kind", "message": "", "detail": None, "request_id": ""}}, status=400),
         "of_no_kind"),
    ],
)  # fmt: skip
def test_what_the_document_does_not_say_is_a_fault(response, says):
    (fault,) = faults("GET", "/health", response)

    assert says in fault


def test_a_request_that_was_accepted_must_be_allowed():
    accepted = JsonResponse({"results": [], "degraded": []})

    assert faults("POST", "/api/v1/memory/query", accepted, '{"group_id": "g", "query": "why?"}') == []
    assert faults("POST", "/api/v1/memory/query", accepted, '{"group_id": 7, "query": "why?"}')


@pytest.mark.parametrize("path", ["/", "/admin/", "/ops/", "/metrics", "/nothing/here"])
def test_other_pages_are_left_alone(path):
    assert faults("GET", path, HttpResponse("anything", status=418)) == []


FIRST_REQUESTS = """
import threading
import django
django.setup()
from memory.api.known_fields import read_document
ready = threading.Barrier(8)
read = []
def ask():
    ready.wait()
    read.append(len(read_document()))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(read), len(set(read)))
"""


def test_the_first_requests_of_a_process_may_come_together():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST_REQUESTS],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "memos_site.settings"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout.strip(), done.stderr) == ("8 1", "")
