"""Addresses that no page links to answer 4xx and never 500."""

from __future__ import annotations

import json

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType

from memory.models import Memory


def test_the_shortcut_of_every_table_is_not_found(staff, world):
    for model in apps.get_models():
        kind = ContentType.objects.get_for_model(model)
        for pk in ("1", str(world.ids[0]), "nonsense"):
            assert staff.get(f"/admin/r/{kind.pk}/{pk}/").status_code == 404, model
    assert Memory.objects.across_namespaces().filter(pk=world.ids[0]).exists()


def test_the_shortcut_for_staff_without_permissions(grant_console, world):
    client = grant_console()
    for path in ("/admin/r/1/1/", "/admin/r/999999/1/", "/admin/r/nonsense/1/"):
        assert client.get(path).status_code == 404, path


def test_the_audit_log_without_a_grant(grant_console, world):
    client = grant_console(permissions=("ops.export",))
    for path in ("/ops/audit/", "/ops/audit/?group=request"):
        assert client.get(path).status_code == 403, path
    for path in ("/ops/audit/new/", "/ops/audit/event/", "/ops/audit/requests/"):
        assert client.get(path).status_code in (200, 400, 403, 404), path


@pytest.mark.parametrize("opening", ['{"and":[', '{"not":', "[", '{"metadata.a":['])
def test_a_filter_that_is_nested_very_deep(staff, world, opening):
    closing = "".join({"{": "}", "[": "]"}[one] for one in reversed(opening) if one in "{[")
    for depth in (100, 1_200, 4_900, 100_000):
        query = {"text": "pilot", "namespace": "harbour", "a-filter": opening * depth + "1" + closing * depth}
        for path in ("/ops/radar/ask/", "/ops/radar/"):
            answer = staff.post(path, query) if path.endswith("ask/") else staff.get(path, query)
            assert answer.status_code in (200, 400, 413, 414, 422), (depth, path)


def test_a_filter_that_is_nested_very_deep_at_the_api(alice):
    deep: object = {"metadata.a": 1}
    body = json.dumps({"namespace": "alice", "query": "x", "filter": deep})
    nested = body.replace('{"metadata.a": 1}', '{"not":' * 5_000 + '{"metadata.a": 1}' + "}" * 5_000)
    answer = alice.client.post("/v1/search", data=nested, content_type="application/json")
    assert answer.status_code in (400, 422)
