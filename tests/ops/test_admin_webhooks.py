"""Webhooks, their deliveries and bulk changes in the admin: staff can view them, but not the receivers' secrets."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from memory.models import BulkChange, Memory, Webhook, WebhookDelivery
from memory.models.keys import new_id
from memory.retrieval.filters import Condition, MemoryField, Operator
from memory.services.memories import bulk
from memory.services.webhooks import deliver, endpoints
from memory.types import system_access
from ops.models import StaffGrant
from tests import job_queue
from tests.ops.conftest import HOSTILE, NOW, World, scope_of

MODELS = {"webhook": Webhook, "webhookdelivery": WebhookDelivery, "bulkchange": BulkChange}
ACCESS = system_access("tests")
URL = "https://hooks.example.com/memos?token=marmalade"
ECHO = "an echo of a text"


@pytest.fixture
def told(world: World) -> Webhook:
    """Make a webhook in each namespace, harbour's with two deliveries, and a bulk change in each."""
    endpoints.create_webhook(ACCESS, scope_of("bakery"), url=URL, now=NOW)
    row, _secret = endpoints.create_webhook(
        ACCESS, world.harbour, url=URL, description=HOSTILE, types=["memory.added"], now=NOW
    )
    for state, error in (("delivered", ""), ("failed", f"The receiver answered 500. {HOSTILE}")):
        WebhookDelivery.objects.create(
            namespace_id=row.namespace_id, webhook_id=row.pk, event_id=new_id(), type="memory.added", state=state,
            memory_ids=[world.ids[0]], attempts=1, answer=ECHO + HOSTILE, created_at=NOW,
            tries=[{"at": NOW.isoformat(), "status": 500 if error else 200, "ms": 12, "error": error}],
        )  # fmt: skip
    for scope in (world.harbour, scope_of("bakery")):
        BulkChange.objects.create(
            namespace_id=scope.namespace_id, verb="edit", wanted={"reason": "a typed reason" + HOSTILE}, matched=3,
            refused=1, refusals={"legal_hold": 1}, actor="key:test", created_at=NOW,
        )  # fmt: skip
    return row


def member(*codes: str) -> Client:
    """Return the client of a member of staff who reaches the harbour and has these permissions."""
    user = User.objects.create_user("rita", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=codes))
    StaffGrant.objects.create(user=user, namespace_id=scope_of("harbour").namespace_id)
    client = Client()
    client.force_login(user)
    return client


VIEWS = tuple(f"view_{name}" for name in MODELS)


def listed(client: Client, name: str, **query: str) -> list[Any]:
    answer = client.get(f"/admin/memory/{name}/", query)
    assert answer.status_code == 200, answer.headers
    return list(answer.context["cl"].result_list)


def whole(client: Client, name: str) -> str:
    """Return the list and the page of each row that the client sees."""
    shown = client.get(f"/admin/memory/{name}/").content.decode()
    for row in listed(client, name):
        shown += client.get(f"/admin/memory/{name}/{row.pk}/change/").content.decode()
    return shown


@pytest.mark.parametrize("name", MODELS)
def test_lists_and_pages_open_and_show_hostile_text_as_text(staff, told, name, django_assert_max_num_queries):
    with django_assert_max_num_queries(13):
        rows = listed(staff, name)
    assert len(rows) == 2
    for row in rows:
        with django_assert_max_num_queries(16):
            assert staff.get(f"/admin/memory/{name}/{row.pk}/change/").status_code == 200
    assert "<script>alert(" not in whole(staff, name)


@pytest.mark.parametrize("name", MODELS)
def test_nothing_can_be_changed_here(staff, told, name):
    before = list(MODELS[name]._base_manager.order_by("id").values())
    base, pk = f"/admin/memory/{name}/", before[0]["id"]
    assert staff.post(f"{base}add/", {}).status_code == 403
    assert staff.post(f"{base}{pk}/change/", {"url": "https://evil.example/", "enabled": ""}).status_code == 403
    assert staff.post(f"{base}{pk}/delete/", {"post": "yes"}).status_code == 403
    staff.post(base, {"action": "delete_selected", "_selected_action": [str(pk)], "post": "yes"})
    assert list(MODELS[name]._base_manager.order_by("id").values()) == before


@pytest.mark.parametrize("name", MODELS)
def test_each_table_has_a_permission_of_its_own(told, name):
    others = member(*(view for view in VIEWS if view != f"view_{name}"))

    assert others.get(f"/admin/memory/{name}/").status_code == 403
    for other in MODELS.keys() - {name}:
        assert listed(others, other)


@pytest.mark.parametrize("name", MODELS)
def test_out_of_reach_it_is_not_there(told, name):
    client, harbour = member(*VIEWS), told.namespace_id

    assert {row.namespace_id for row in listed(client, name)} == {harbour}
    assert listed(client, name, namespace="bakery") == []
    for row in MODELS[name]._base_manager.exclude(namespace_id=harbour):
        assert client.get(f"/admin/memory/{name}/{row.pk}/change/").status_code == 404


def test_no_secret_is_shown_to_anybody(staff, told):
    _row, given = endpoints.rotate_secret(ACCESS, webhook_id=told.pk, keep_hours=24, now=NOW)
    told.refresh_from_db()

    assert told.former_secret
    shown = whole(staff, "webhook")
    for secret in map(bytes, (told.secret, told.former_secret)):
        assert secret.hex() not in shown
        assert repr(secret)[2:-1] not in shown
    assert given.removeprefix("whsec_") not in shown
    assert "whsec_" not in shown
    assert "<memory at" not in shown


def test_the_whole_address_is_for_who_may_change_it(told):
    client = member(*VIEWS)
    shown = whole(client, "webhook")
    assert "hooks.example.com/…" in shown
    assert "marmalade" not in shown

    User.objects.get(username="rita").user_permissions.add(Permission.objects.get(codename="change_webhook"))
    assert whole(client, "webhook").count("marmalade") == 2


def test_what_was_answered_and_typed_is_for_who_may_read_texts(told):
    client = member(*VIEWS)
    shown = whole(client, "webhookdelivery") + whole(client, "bulkchange")
    assert "•••" in shown
    assert ECHO not in shown
    assert "a typed reason" not in shown

    User.objects.get(username="rita").user_permissions.add(Permission.objects.get(codename="view_memory_text"))
    assert ECHO in whole(client, "webhookdelivery")
    assert "a typed reason" in whole(client, "bulkchange")


def test_how_a_webhook_is_doing(staff, told):
    def state() -> str:
        return str(staff.get(f"/admin/memory/webhook/{told.pk}/change/").content.decode())

    assert "Enabled" in state()
    Webhook.objects.filter(namespace_id=told.namespace_id).update(failing_since=NOW)
    assert "Failing" in state()
    deliver.disable(told, why="No delivery was taken for 72 hours.", now=NOW + timedelta(hours=72))
    assert "Disabled after failures" in state()
    assert "No delivery was taken for 72 hours." in state()
    assert [row.pk for row in listed(staff, "webhook", enabled__exact="0")] == [told.pk]


def test_deliveries_are_narrowed(staff, told):
    elsewhere = Webhook.objects.across_namespaces().exclude(pk=told.pk).get()
    failed = WebhookDelivery.objects.filter(namespace_id=told.namespace_id).get(state="failed")

    assert len(listed(staff, "webhookdelivery", webhook_id=str(told.pk))) == 2
    assert listed(staff, "webhookdelivery", webhook_id=str(elsewhere.pk)) == []
    assert listed(staff, "webhookdelivery", event_id=str(failed.event_id)) == [failed]
    assert listed(staff, "webhookdelivery", state__exact="failed") == [failed]
    assert len(listed(staff, "webhookdelivery", type="memory.added")) == 2
    assert listed(staff, "webhookdelivery", type="memory.erased") == []
    assert listed(staff, "webhookdelivery", namespace="bakery") == []
    for nonsense in ("nonsense", "\0", "x" * 5_000, str(uuid.uuid4())):
        answer = staff.get("/admin/memory/webhookdelivery/", {"webhook_id": nonsense})
        assert answer.status_code == 400 or list(answer.context["cl"].result_list) == [], nonsense


def test_a_webhook_and_its_deliveries_lead_to_each_other(staff, told, world):
    page = staff.get(f"/admin/memory/webhook/{told.pk}/change/").content.decode()
    assert f"/admin/memory/webhookdelivery/?webhook_id={told.pk}" in page

    delivery = WebhookDelivery.objects.filter(namespace_id=told.namespace_id).latest("id")
    page = staff.get(f"/admin/memory/webhookdelivery/{delivery.pk}/change/").content.decode()
    assert f"/admin/memory/webhook/{told.pk}/change/" in page
    assert f"/admin/memory/memory/{world.ids[0]}/change/" in page


def test_a_bulk_change_leads_to_what_it_changed(staff, world):
    where = Condition(MemoryField.SESSION, Operator.EQ, "night shift")
    change = bulk.archive_where(world.harbour, where=where, reason="the night is over", now=timezone.now())
    assert "the night is over" in whole(staff, "bulkchange")
    job_queue.work_off()

    page = staff.get(f"/admin/memory/bulkchange/{change.pk}/change/").content.decode()
    assert "the night is over" not in page
    address = f"/admin/memory/auditlog/?request_id={change.pk}"
    assert address in page
    events = staff.get(address).context["cl"].result_list
    assert {event.subject for event in events if event.event_type == "MEMORY_ARCHIVE"} == {str(pk) for pk in world.ids}
    assert not Memory.objects.in_scope(world.harbour).exclude(state="archived").exists()
    (row,) = listed(staff, "bulkchange", verb__exact="archive", actor="key:test", namespace="harbour")
    assert (row.matched, row.changed) == (4, 4)
