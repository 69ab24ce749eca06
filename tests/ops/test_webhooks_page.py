"""`/ops/webhooks/`: webhooks within the reach of staff, and their actions."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.utils import timezone

from memory.models import Webhook, WebhookDelivery
from memory.services.webhooks import deliver, endpoints, log
from memory.types import system_access
from tests.ops.conftest import World, scope_of

PAGE = "/ops/webhooks/"
URL = "https://hooks.example.com/memos?token=marmalade"


def webhook_of(namespace: str, **values: Any) -> Webhook:
    access = system_access("tests")
    return endpoints.create_webhook(access, scope_of(namespace), url=URL, now=timezone.now(), **values)[0]


@pytest.fixture
def told(world: World) -> Webhook:
    """Make a webhook of harbour with a delivered, a failed and a waiting delivery, and a webhook of bakery."""
    webhook_of("bakery", description="bakery's till")
    row = webhook_of("harbour", description="the port's CRM", types=["memory.added", "job.failed"])
    now = timezone.now()
    for number, state in enumerate(("delivered", "failed", "waiting")):
        error = "" if state == "delivered" else "The receiver answered 500, and not 2xx."
        tries = [{"at": now.isoformat(), "status": 500 if error else 200, "ms": 12, "error": error}]
        WebhookDelivery.objects.create(
            namespace_id=row.namespace_id, webhook_id=row.pk, event_id=uuid.uuid4(), type="memory.added", state=state,
            attempts=number + 1, tries=tries, answer="an echo of a text", created_at=now,
            next_at=now if state == "waiting" else None,
        )  # fmt: skip
    return row


def text(client: Any, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def one(row: Webhook) -> str:
    return f"{PAGE}{row.pk}/"


def test_what_is_reached_is_listed_without_the_rest_of_the_address(staff, grant_console, told):
    shown = text(grant_console("harbour"), PAGE)

    assert "the port&#x27;s CRM" in shown
    assert "hooks.example.com/…" in shown
    assert "marmalade" not in shown
    assert "bakery" not in shown
    assert "Make one" not in shown


def test_out_of_reach_it_is_not_there(grant_console, told):
    clerk = grant_console("bakery", permissions=("memory.change_webhook",))

    assert clerk.get(one(told)).status_code == 404
    assert clerk.get(f"{PAGE}?ns=harbour").status_code == 404
    for do in ("test", "rotate", "delete", "disable"):
        assert clerk.post(f"{one(told)}change/", {"do": do}).status_code == 404
    assert clerk.post(f"{PAGE}create/?ns=harbour", {"url": URL}).status_code == 404
    told.refresh_from_db()
    assert told.enabled


def test_without_the_permission_nothing_is_changed(grant_console, told):
    clerk = grant_console("harbour")

    assert clerk.post(f"{one(told)}change/", {"do": "delete"}).status_code == 403
    assert clerk.post(f"{PAGE}create/?ns=harbour", {"url": URL}).status_code == 403
    assert clerk.get(f"{one(told)}change/").status_code == 405


def test_the_log_of_deliveries(staff, grant_console, told):
    shown = text(staff, one(told))
    failed = text(staff, f"{one(told)}?state=failed")

    assert shown.count("The receiver answered 500") == 2
    assert failed.count("The receiver answered 500") == 1
    assert "an echo of a text" in shown
    assert "an echo of a text" not in text(grant_console("harbour"), one(told))


def test_one_is_made_and_its_secret_shown_once(staff, world):
    body = {"url": URL, "description": "the CRM", "types": ["memory.added"]}
    made = staff.post(f"{PAGE}create/?ns=harbour", body)

    row = Webhook.objects.across_namespaces().get()
    assert re.search(r"whsec_[\w+/=]{44}", made.content.decode())
    assert (row.types, row.includes_text, row.created_by[:6]) == (["memory.added"], False, "staff:")
    assert "whsec_" not in text(staff, one(row))


@pytest.mark.parametrize("url", ["http://example.com/", "https://10.0.0.1/", "nonsense"])
def test_a_wrong_address_is_said_in_the_form(staff, world, url):
    shown = staff.post(f"{PAGE}create/?ns=harbour", {"url": url, "types": ["job.failed"]}).content.decode()

    assert "notice-bad" in shown
    assert f'value="{url}"' in shown
    assert not Webhook.objects.across_namespaces().exists()


def test_what_the_buttons_do(staff, told):
    def press(do: str, **more: str) -> Any:
        return staff.post(f"{one(told)}change/", {"do": do, **more})

    press("test")
    press("replay_failed")
    delivered = WebhookDelivery.objects.filter(namespace_id=told.namespace_id).get(state="delivered")
    press("replay", delivery=str(delivered.pk))
    assert WebhookDelivery.objects.filter(namespace_id=told.namespace_id).waiting().count() == 4
    press("disable")
    told.refresh_from_db()
    assert not told.enabled
    assert press("test").status_code == 302
    press("enable")
    former = bytes(told.secret)
    assert b"whsec_" in press("rotate").content
    told.refresh_from_db()
    assert told.enabled
    assert bytes(told.former_secret) == former
    press("replay", delivery="nonsense")
    press("nonsense")
    press("delete")
    assert not Webhook.objects.filter(namespace_id=told.namespace_id).exists()


def test_staff_see_what_was_disabled(staff, told):
    deliver.disable(told, why="No delivery was taken for 72 hours.", now=timezone.now())

    assert "1 webhook was disabled after failures" in text(staff, "/ops/")
    assert "Disabled after failures" in text(staff, PAGE)
    assert "No delivery was taken for 72 hours." in text(staff, one(told))
    assert log.count_webhooks(system_access("tests")).disabled == 1
