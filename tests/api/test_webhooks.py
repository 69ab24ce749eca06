"""`/v1/webhooks`: permissions, refusals, and the listing of webhooks."""

from __future__ import annotations

import base64
import json
import uuid
from typing import Any

import pytest

from memory.models import AuditLog, Webhook, WebhookDelivery
from memory.services.webhooks.endpoints import MOST_WEBHOOKS

URL = "https://hooks.example.com/memos?token=marmalade"


def make(tenant: Any, **values: Any) -> dict[str, Any]:
    answer = tenant.post("/v1/webhooks", {"namespace": tenant.scope.namespace, "url": URL, **values})
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def patch(tenant: Any, webhook_id: str, **values: Any) -> Any:
    return tenant.client.patch(f"/v1/webhooks/{webhook_id}", values, content_type="application/json")


class TestRefusals:
    def test_without_a_key_or_the_scope(self, olga, make_tenant):
        assert olga.get("/v1/webhooks").status_code == 401
        clerk = make_tenant("clerk", scopes=("read", "write"))
        assert clerk.get("/v1/webhooks").status_code == 403
        assert clerk.post("/v1/webhooks", {"namespace": "clerk", "url": URL}).status_code == 403

    def test_another_tenants_webhook_is_not_there(self, alice, bob):
        made = make(bob)
        path = f"/v1/webhooks/{made['id']}"
        delivery = bob.post(f"{path}/test", {}).json()

        assert alice.get(path).status_code == 404
        assert patch(alice, made["id"], url="https://mine.example.com/").status_code == 404
        assert alice.client.delete(path).status_code == 404
        assert alice.get(f"{path}/deliveries").status_code == 404
        for end in ("secret", "test", "replay", f"deliveries/{delivery['id']}/replay"):
            assert alice.post(f"{path}/{end}", {}).status_code == 404, end
        assert alice.get("/v1/webhooks").json()["webhooks"] == []
        assert alice.get("/v1/webhooks", namespace="bob").status_code == 404
        assert alice.post("/v1/webhooks", {"namespace": "bob", "url": URL}).status_code == 404

    def test_a_delivery_of_another_webhook_is_not_there(self, alice):
        first, second = make(alice), make(alice)
        delivery = alice.post(f"/v1/webhooks/{first['id']}/test", {}).json()
        answer = alice.post(f"/v1/webhooks/{second['id']}/deliveries/{delivery['id']}/replay", {})
        assert answer.status_code == 404

    @pytest.mark.parametrize(
        "values",
        [
            {"url": "http://hooks.example.com/"},
            {"url": "https://127.0.0.1/"},
            {"url": "https://[::ffff:10.0.0.1]/"},
            {"url": 5},
            {"types": ["memory.read"]},
            {"types": "memory.added"},
            {"types": ["memory.added"] * 99},
            {"description": "x" * 301},
            {"include_text": "yes"},
        ],
    )
    def test_what_is_wrong(self, alice, values):
        answer = alice.post("/v1/webhooks", {"namespace": "alice", "url": URL, **values})
        assert answer.status_code == 400
        assert not Webhook.objects.across_namespaces().exists()
        made = make(alice)
        assert patch(alice, made["id"], **values).status_code == 400

    def test_there_is_a_most(self, alice):
        for _ in range(MOST_WEBHOOKS):
            make(alice)
        answer = alice.post("/v1/webhooks", {"namespace": "alice", "url": URL})
        assert answer.status_code == 409


class TestLife:
    def test_the_secret_is_shown_once_and_stored_encrypted(self, alice):
        made = make(alice, types=["memory.archived", "memory.added"], description="  the CRM ")
        shown = alice.get(f"/v1/webhooks/{made['id']}").json()

        raw = base64.b64decode(made.pop("secret").removeprefix("whsec_"))
        assert len(raw) == 32
        assert shown == made
        assert shown["types"] == ["memory.added", "memory.archived"]
        assert shown["description"] == "the CRM"
        row = Webhook.objects.across_namespaces().get()
        assert raw not in bytes(row.secret)

    def test_the_audit_log_says_who_and_where_but_neither_secret_nor_path(self, alice):
        made = make(alice)
        patch(alice, made["id"], types=["job.failed"])
        alice.post(f"/v1/webhooks/{made['id']}/secret", {})
        alice.client.delete(f"/v1/webhooks/{made['id']}")

        rows = AuditLog.objects.filter(namespace_id=alice.scope.namespace_id, subject=made["id"]).order_by("pk")
        events = [row.event_type for row in rows]
        assert events == ["WEBHOOK_CREATE", "WEBHOOK_CHANGE", "WEBHOOK_CHANGE", "WEBHOOK_DELETE"]
        said = json.dumps([row.details for row in rows])
        assert "hooks.example.com" in said
        assert "marmalade" not in said
        assert made["secret"] not in said

    def test_a_change_leaves_the_rest(self, alice):
        made = make(alice, description="the CRM", types=["memory.added"])
        changed = patch(alice, made["id"], enabled=False).json()

        assert (changed["enabled"], changed["description"], changed["types"]) == (False, "the CRM", ["memory.added"])
        assert changed["disabled_reason"] is None

    def test_a_rotation_says_until_when_both_hold(self, alice):
        made = make(alice)
        first = alice.post(f"/v1/webhooks/{made['id']}/secret", {"keep_hours": 2}).json()
        second = alice.post(f"/v1/webhooks/{made['id']}/secret", {"keep_hours": 0}).json()

        assert len({made["secret"], first["secret"], second["secret"]}) == 3
        assert first["former_secret_until"] is not None
        assert second["former_secret_until"] is None
        assert alice.post(f"/v1/webhooks/{made['id']}/secret", {"keep_hours": 1000}).status_code == 400

    def test_lists_have_pages(self, alice):
        ids = [make(alice)["id"] for _ in range(3)]
        first = alice.get("/v1/webhooks", namespace="alice", limit="2").json()
        second = alice.get("/v1/webhooks", namespace="alice", limit="2", cursor=first["next_cursor"]).json()
        assert [one["id"] for one in first["webhooks"] + second["webhooks"]] == ids[::-1]
        assert second["next_cursor"] is None

    def test_a_test_delivery_waits_for_the_worker(self, alice):
        made = make(alice)
        answer = alice.post(f"/v1/webhooks/{made['id']}/test", {})
        listed = alice.get(f"/v1/webhooks/{made['id']}/deliveries", state="waiting").json()["deliveries"]

        assert answer.status_code == 202
        assert listed == [answer.json()]
        assert (listed[0]["type"], listed[0]["attempts"]) == ("webhook.test", 0)

    def test_all_that_failed_is_replayed(self, alice):
        made = make(alice)
        for _ in range(3):
            alice.post(f"/v1/webhooks/{made['id']}/test", {})
        WebhookDelivery.objects.across_namespaces().update(state="failed", next_at=None)

        assert alice.post(f"/v1/webhooks/{made['id']}/replay", {}).json() == {"replayed": 3}
        assert WebhookDelivery.objects.across_namespaces().waiting().count() == 3

    def test_a_disabled_one_sends_nothing_again(self, alice):
        made = make(alice)
        delivery = alice.post(f"/v1/webhooks/{made['id']}/test", {}).json()
        patch(alice, made["id"], enabled=False)
        for path in ("test", "replay", f"deliveries/{delivery['id']}/replay"):
            answer = alice.post(f"/v1/webhooks/{made['id']}/{path}", {})
            assert answer.status_code == 409, path
            assert "enable it first" in answer.json()["error"]["message"]

    def test_its_log_goes_with_it(self, alice):
        made = make(alice)
        alice.post(f"/v1/webhooks/{made['id']}/test", {})
        assert alice.client.delete(f"/v1/webhooks/{made['id']}").status_code == 204
        assert not WebhookDelivery.objects.across_namespaces().exists()
        assert alice.get(f"/v1/webhooks/{made['id']}").status_code == 404
        assert alice.client.delete(f"/v1/webhooks/{uuid.uuid4()}").status_code == 404
