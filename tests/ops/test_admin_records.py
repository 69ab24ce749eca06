from __future__ import annotations

import pytest

from memory.models import AuditLog, Condensation, ContextPack, EmbeddingModel, Procedure
from tests.ops.conftest import HOSTILE

READ_ONLY = {
    "auditlog": AuditLog,
    "condensation": Condensation,
    "contextpack": ContextPack,
    "embeddingmodel": EmbeddingModel,
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_rows_refuse_every_write(staff, world, name):
    model = READ_ONLY[name]
    row = model._base_manager.order_by("-pk").first()
    before = list(model._base_manager.values())
    base = f"/admin/memory/{name}/"
    assert staff.post(f"{base}add/", {}).status_code == 403
    assert staff.post(f"{base}{row.pk}/change/", {"session": "x"}).status_code == 403
    assert staff.post(f"{base}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    staff.post(base, {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"})
    assert list(model._base_manager.values()) == before


@pytest.mark.parametrize("name", [*READ_ONLY, "namespace", "procedure", "apikey", "memory"])
def test_lists_and_pages_open_with_data_and_bounded_queries(staff, world, name, django_assert_max_num_queries):
    Procedure.objects.create(kind="prompt", name="greeting", text=HOSTILE)
    with django_assert_max_num_queries(13):
        response = staff.get(f"/admin/memory/{name}/")
    assert response.status_code == 200
    rows = response.context["cl"].result_list
    assert len(rows) > 0
    with django_assert_max_num_queries(16):
        shown = staff.get(f"/admin/memory/{name}/{rows[0].pk}/change/")
    assert shown.status_code == 200
    assert "<script>alert(" not in shown.content.decode()
    assert "<script>alert(" not in response.content.decode()


def test_events_are_narrowed_by_type_actor_session_and_namespace(staff, world):
    def listed(**query: str) -> set[str]:
        return {event.event_type for event in staff.get("/admin/memory/auditlog/", query).context["cl"].result_list}

    assert listed(event_type="KEY_ISSUE") == {"KEY_ISSUE"}
    assert listed(actor="test") == {"KEY_ISSUE"}
    assert listed(namespace="harbour") == {"INGEST", "CONDENSATION"}
    assert listed(session="recipes") == {"INGEST"}
    assert listed(actor="nobody") == set()


def test_a_card_shows_its_statements_with_links_to_their_memories(staff, world):
    row = Condensation.objects.across_namespaces().get()
    shown = staff.get(f"/admin/memory/condensation/{row.pk}/change/").content.decode()
    assert "northern gate" in shown
    assert f"/admin/memory/memory/{world.ids[2]}/change/" in shown


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("not json", {}),
        ("[]", {}),
        ("{}", []),
        ('{"facts": "x"}', {"facts": "x"}),
        ('{"facts": [{"a": 1}, "b", "c"]}', {"facts": [None, ["<b>"]]}),
    ],
)
def test_a_strange_card_is_shown_all_the_same(staff, world, text, sources):
    Condensation.objects.across_namespaces().update(condensed_text=text, item_sources=sources)
    row = Condensation.objects.across_namespaces().get()
    shown = staff.get(f"/admin/memory/condensation/{row.pk}/change/")
    assert shown.status_code == 200
    assert "<b>" not in shown.content.decode()


def test_a_namespace_keeps_its_name_and_counts_its_memories(staff, world):
    base = "/admin/memory/namespace/"
    staff.post(f"{base}{world.harbour.namespace_id}/change/", {"name": "renamed", "description": "the docks"})
    shown = staff.get(base, {"q": "harb"})
    [row] = shown.context["cl"].result_list
    assert (row.name, row.description, row.memory_count) == ("harbour", "the docks", 4)


def test_a_procedure_can_be_made_and_changed(staff, world):
    base = "/admin/memory/procedure/"
    values = {"kind": "tool", "name": "search", "version": "1", "parameters": "{}", "enabled": "on"}
    assert staff.post(f"{base}add/", values).status_code == 302
    row = Procedure.objects.across_namespaces().get()
    assert staff.post(f"{base}{row.pk}/change/", {**values, "description": "finds"}).status_code == 302
    assert Procedure.objects.across_namespaces().get().description == "finds"


def test_the_queue_pages_of_django_q_open(staff, world):
    for name in ("ormq", "failure", "schedule"):
        assert staff.get(f"/admin/django_q/{name}/").status_code == 200
