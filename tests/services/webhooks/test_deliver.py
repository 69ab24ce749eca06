"""Deliveries to a real receiver: signed, retried, given up, and never containing what their reader may not read."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from standardwebhooks import WebhookVerificationError

from memory.enums import AuditEvent, DeliveryState
from memory.models import ApiKey, AuditLog, Webhook, WebhookDelivery
from memory.postgresql import reach
from memory.services.tenancy.keys import revoke_key
from memory.services.webhooks import deliver, log
from tests.services.webhooks.receiver import Answer, Received, refuse

pytestmark = pytest.mark.django_db(transaction=True)

LATER = timedelta(days=1, hours=6)


def the_delivery() -> WebhookDelivery:
    return WebhookDelivery.objects.across_namespaces().get()


def the_webhook() -> Webhook:
    return Webhook.objects.across_namespaces().get()


class TestWhatIsSent:
    def test_a_signed_event_with_ids_and_no_text(self, alice, remember, receiver, subscribe, deliver_all):
        remember(alice, "Before there was a webhook.")
        made = subscribe(alice, receiver.url(path="/hook?from=memos"))
        memory_id = remember(alice, "The ferry leaves at nine.")

        assert deliver_all() == 1

        (message,) = receiver.received
        event = message.verify(made["secret"])
        assert message.path == "/hook?from=memos"
        assert message.headers["host"] == f"127.0.0.1:{receiver.port}"
        assert (event["type"], event["namespace"]) == ("memory.added", "alice")
        assert event["id"] == message.headers["webhook-id"]
        assert event["data"]["memory_ids"] == [memory_id]
        assert event["data"]["session_id"] == "s1"
        assert b"ferry" not in message.body
        assert the_delivery().state == DeliveryState.DELIVERED
        assert deliver_all(after=LATER) == 0

    def test_a_wrong_secret_or_a_changed_body_does_not_verify(self, alice, remember, receiver, subscribe, deliver_all):
        made = subscribe(alice, receiver.url())
        remember(alice, "The ferry leaves at nine.")
        deliver_all()
        (message,) = receiver.received

        with pytest.raises(WebhookVerificationError):
            message.verify("whsec_" + "A" * 44)
        message.body = message.body.replace(b"alice", b"mallo")
        with pytest.raises(WebhookVerificationError):
            message.verify(made["secret"])

    def test_only_the_types_that_are_asked_for(self, alice, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url(), types=["memory.archived", "memory.changed"])
        memory_id = remember(alice, "The ferry leaves at nine.")
        alice.client.patch(
            f"/v1/memories/{memory_id}",
            {"text": "The ferry leaves at ten.", "reason": "the new timetable"},
            content_type="application/json",
        )
        alice.client.delete(f"/v1/memories/{memory_id}?reason=over")

        deliver_all()

        assert receiver.types == ["memory.changed", "memory.archived"]
        assert all(b"timetable" not in one.body for one in receiver.received)

    def test_nothing_of_another_tenant(self, alice, bob, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url())
        remember(bob, "Bob's secret plan.")

        assert deliver_all() == 0
        assert receiver.received == []

    def test_both_secrets_sign_while_they_rotate(self, alice, remember, receiver, subscribe, deliver_all):
        made = subscribe(alice, receiver.url())
        rotated = alice.post(f"/v1/webhooks/{made['id']}/secret", {"keep_hours": 1}).json()
        remember(alice, "The ferry leaves at nine.")
        deliver_all()
        Webhook.objects.across_namespaces().update(former_until=timezone.now())
        remember(alice, "The ferry leaves at ten.")
        deliver_all()

        both, one = receiver.received
        assert made["secret"] != rotated["secret"]
        assert both.verify(made["secret"]) == both.verify(rotated["secret"])
        assert one.verify(rotated["secret"])
        with pytest.raises(WebhookVerificationError):
            one.verify(made["secret"])

    def test_a_secret_of_another_server_key_is_said_and_mended_by_a_new_one(
        self, alice, remember, receiver, subscribe, deliver_all, settings
    ):
        made = subscribe(alice, receiver.url())
        settings.SECRET_KEY = "another-server-key-0123456789012345678901234567890123456789"
        remember(alice, "The ferry leaves at nine.")
        deliver_all()

        assert receiver.received == []
        assert "another MEMOS_SECRET_KEY" in the_delivery().tries[-1]["error"]
        rotated = alice.post(f"/v1/webhooks/{made['id']}/secret", {"keep_hours": 0}).json()
        deliver_all(after=timedelta(seconds=30))
        assert receiver.received[0].verify(rotated["secret"])


class TestTexts:
    def test_they_are_sent_when_a_key_that_reads_asks_for_them(self, alice, remember, receiver, subscribe, deliver_all):
        made = subscribe(alice, receiver.url(), include_text=True)
        memory_id = remember(alice, "The ferry leaves at nine.")
        deliver_all()

        (memory,) = receiver.received[0].verify(made["secret"])["data"]["memories"]
        assert (memory["id"], memory["text"]) == (memory_id, "The ferry leaves at nine.")

    def test_a_key_that_may_not_read_has_none_sent(self, make_tenant, receiver):
        writer = make_tenant("writer", scopes=("write", "admin"))
        answer = writer.post("/v1/webhooks", {"namespace": "writer", "url": receiver.url(), "include_text": True})

        assert answer.status_code == 403
        assert "scopes read and admin" in answer.json()["error"]["message"]

    def test_they_end_with_their_key(self, alice, remember, receiver, subscribe, deliver_all):
        made = subscribe(alice, receiver.url(), include_text=True)
        remember(alice, "The ferry leaves at nine.")
        key = ApiKey.objects.get(prefix=alice.scope.actor.removeprefix("key:"))
        revoke_key(key_id=key.pk, actor="tests", now=timezone.now())
        deliver_all()

        assert "memories" not in receiver.received[0].verify(made["secret"])["data"]

    def test_whoever_sends_them_elsewhere_must_read_them(self, alice, make_tenant, remember, receiver, subscribe):
        made = subscribe(alice, receiver.url(), include_text=True)
        admin = make_tenant("alice", scopes=("admin",))
        body = {"url": receiver.url(path="/mine")}
        moved = admin.client.patch(f"/v1/webhooks/{made['id']}", body, content_type="application/json")

        assert moved.status_code == 200
        assert (moved.json()["include_text"], moved.json()["sends_text"]) == (False, False)

    def test_an_erased_memory_has_none_in_what_waits(self, alice, remember, receiver, subscribe, deliver_all):
        from tests.job_queue import work_off

        subscribe(alice, receiver.url(), include_text=True)
        receiver.answer = refuse()
        memory_id = remember(alice, "The ferry leaves at nine.")
        receiver.answer = lambda one: (500, {}, b"cannot take: " + one.body[-300:])
        deliver_all()
        assert "ferry" in the_delivery().answer

        body = {"namespace": "alice", "memory_ids": [memory_id], "reason": "asked for"}
        assert alice.post("/v1/erasures", body).status_code == 200
        work_off()

        added = WebhookDelivery.objects.across_namespaces().get(type="memory.added")
        assert added.answer == ""
        receiver.answer = lambda _: (204, {}, b"")
        receiver.received.clear()
        deliver_all(after=LATER)
        first, last = (one.event for one in receiver.received)
        assert first["data"]["memories"] == []
        assert (last["type"], last["data"]["memory_ids"]) == ("memory.erased", [memory_id])
        assert all(b"ferry" not in one.body for one in receiver.received)


class TestFailures:
    def test_it_is_tried_again_after_a_while_under_the_same_id(self, alice, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url())
        receiver.answer = refuse()
        remember(alice, "The ferry leaves at nine.")
        assert deliver_all() == 1
        assert deliver_all() == 0

        receiver.answer = refuse(204)
        assert deliver_all(after=timedelta(seconds=10)) == 1

        first, second = receiver.received
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        row = the_delivery()
        assert (row.state, row.attempts) == (DeliveryState.DELIVERED, 2)
        assert [one["status"] for one in row.tries] == [500, 204]
        assert row.tries[0]["error"] == "The receiver answered 500, and not 2xx."

    def test_waits_grow_from_seconds_to_a_day(self):
        waits = [deliver.delay_after(attempts).total_seconds() for attempts in range(1, deliver.ATTEMPTS)]

        assert 4 <= waits[0] <= 6
        assert waits == sorted(waits)
        assert 0.8 * 86_400 <= waits[-1] <= 86_400
        assert 40 * 3600 < sum(waits) < 70 * 3600

    def test_after_the_last_attempt_it_has_failed_and_can_be_replayed(
        self, alice, remember, receiver, subscribe, deliver_all
    ):
        made = subscribe(alice, receiver.url())
        receiver.answer = refuse()
        remember(alice, "The ferry leaves at nine.")
        for number in range(deliver.ATTEMPTS):
            assert deliver_all(after=number * LATER / 12) >= 0
            WebhookDelivery.objects.across_namespaces().update(next_at=timezone.now())
            Webhook.objects.across_namespaces().update(paused_until=None)

        assert the_delivery().state == DeliveryState.FAILED
        assert len(receiver.received) == deliver.ATTEMPTS
        WebhookDelivery.objects.across_namespaces().update(next_at=None)
        Webhook.objects.across_namespaces().update(paused_until=None)
        assert deliver_all() == 0

        receiver.answer = refuse(200)
        path = f"/v1/webhooks/{made['id']}/deliveries/{the_delivery().pk}/replay"
        assert alice.post(path, {}).status_code == 202
        assert deliver_all() == 1
        assert the_delivery().state == DeliveryState.DELIVERED
        assert len({one.headers["webhook-id"] for one in receiver.received}) == 1

    def test_redirects_are_not_followed(self, alice, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url())
        receiver.answer = refuse(302, {"Location": receiver.url(path="/elsewhere")})
        remember(alice, "The ferry leaves at nine.")
        deliver_all()

        assert [one.path for one in receiver.received] == ["/hook"]
        assert "redirects are not followed" in the_delivery().tries[-1]["error"]

    def test_a_receiver_that_does_not_answer_is_left_in_time(
        self, alice, remember, receiver, subscribe, deliver_all, settings
    ):
        settings.MEMOS_WEBHOOK_SECONDS = 0.5
        subscribe(alice, receiver.url())
        receiver.answer = lambda _: (200 if receiver.closing.wait(60) else 500, {}, b"")
        remember(alice, "The ferry leaves at nine.")
        deliver_all(turns=1)

        assert "within 0.5 seconds" in the_delivery().tries[-1]["error"]

    def test_of_an_answer_that_trickles_the_status_counts(
        self, alice, remember, receiver, subscribe, deliver_all, settings
    ):
        settings.MEMOS_WEBHOOK_SECONDS = 0.5
        subscribe(alice, receiver.url())

        def pieces():
            while not receiver.closing.wait(0.05):
                yield b"."

        receiver.answer = lambda _: (200, {"Content-Length": "100000"}, pieces())
        remember(alice, "The ferry leaves at nine.")
        deliver_all(turns=1)

        assert the_delivery().state == DeliveryState.DELIVERED

    def test_a_large_answer_is_read_in_part(self, alice, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url())
        receiver.answer = lambda _: (200, {}, b"\0x" * 1_000_000)
        remember(alice, "The ferry leaves at nine.")
        deliver_all()

        assert the_delivery().state == DeliveryState.DELIVERED
        assert the_delivery().answer == "x" * 500

    def test_what_is_no_http_is_a_failure_too(self, alice, remember, settings, subscribe, deliver_all):
        settings.MEMOS_WEBHOOK_PRIVATE = True
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer() -> None:
                link, _ = server.accept()
                link.recv(10_000)
                link.sendall(b"SSH-2.0-none\r\n\r\n")
                link.close()

            threading.Thread(target=answer, daemon=True).start()
            subscribe(alice, f"http://127.0.0.1:{server.getsockname()[1]}/")
            remember(alice, "The ferry leaves at nine.")
            deliver_all()

        assert the_delivery().tries[-1]["error"].startswith("The connection broke off")

    def test_nobody_listens(self, alice, remember, receiver, subscribe, deliver_all):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        subscribe(alice, f"http://127.0.0.1:{port}/")
        remember(alice, "The ferry leaves at nine.")
        deliver_all()

        assert the_delivery().tries[-1]["error"] == "The connection was refused: nothing listens there."

    def test_retry_after_is_kept(self, alice, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url())
        receiver.answer = refuse(429, {"Retry-After": "7200"})
        remember(alice, "The ferry leaves at nine.")
        deliver_all()

        assert the_delivery().next_at > timezone.now() + timedelta(minutes=119)

    def test_after_lasting_failure_it_is_disabled_and_staff_see_it(
        self, alice, remember, receiver, subscribe, deliver_all, settings
    ):
        made = subscribe(alice, receiver.url())
        receiver.answer = refuse()
        remember(alice, "The ferry leaves at nine.")
        deliver_all()
        assert the_webhook().enabled
        deliver_all(after=timedelta(hours=73))

        row = the_webhook()
        assert not row.enabled
        assert row.disabled_why.startswith("No delivery was taken for 72 hours.")
        assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.WEBHOOK_DISABLE.value).count() == 1
        from memory.types import system_access

        assert log.count_webhooks(system_access("tests")).disabled == 1
        assert alice.post(f"/v1/webhooks/{made['id']}/test", {}).status_code == 409

        receiver.answer = refuse(200)
        remember(alice, "While it was disabled.")
        assert deliver_all(after=timedelta(hours=80)) == 0
        enabled = alice.client.patch(
            f"/v1/webhooks/{made['id']}", {"enabled": True}, content_type="application/json"
        ).json()
        assert (enabled["enabled"], enabled["failures"], enabled["disabled_reason"]) == (True, 0, None)
        receiver.received.clear()
        after = remember(alice, "And now again.")
        deliver_all(after=timedelta(hours=80))
        told = [one.event["data"]["memory_ids"] for one in receiver.received if one.event["type"] == "memory.added"]
        assert [after] in told

    def test_a_receiver_that_is_gone_disables_it_at_once(self, alice, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url())
        receiver.answer = refuse(410)
        remember(alice, "The ferry leaves at nine.")
        deliver_all()

        assert not the_webhook().enabled

    def test_one_that_fails_holds_up_no_other(self, alice, bob, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url(path="/bad"))
        subscribe(bob, receiver.url(path="/good"))
        receiver.answer = lambda one: (500 if one.path == "/bad" else 200, {}, b"")
        for number in range(5):
            remember(alice, f"Alice says {number}.")
            remember(bob, f"Bob says {number}.")
        deliver_all()

        paths = [one.path for one in receiver.received]
        assert (paths.count("/good"), paths.count("/bad")) == (5, 1)


class TestLeases:
    def test_what_a_killed_process_held_is_sent_when_its_lease_is_over(
        self, alice, remember, receiver, subscribe, deliver_all
    ):
        subscribe(alice, receiver.url())
        remember(alice, "The ferry leaves at nine.")
        with reach.across_namespaces():
            (lease,) = deliver.claim(limit=10, now=timezone.now())
            assert deliver.claim(limit=10, now=timezone.now()) == []
        # The worker made the delivery, sent it, and was killed before it could record the result.
        with reach.within(lease.namespace_id):
            deliver._publish(lease, now=timezone.now())
            deliver._send(the_webhook(), the_delivery(), b"{}", at=timezone.now())

        assert deliver_all() == 0
        assert deliver_all(after=timedelta(minutes=2)) == 1
        assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
        assert the_delivery().state == DeliveryState.DELIVERED

    def test_a_lease_from_before_the_clock_went_back_is_over(self, alice, remember, receiver, subscribe, deliver_all):
        subscribe(alice, receiver.url())
        remember(alice, "The ferry leaves at nine.")
        Webhook.objects.across_namespaces().update(leased_until=timezone.now() + timedelta(days=1))

        assert deliver_all() == 1

    def test_a_webhook_that_is_deleted_while_it_is_sent_to(self, alice, remember, receiver, subscribe, deliver_all):
        made = subscribe(alice, receiver.url())
        remember(alice, "The ferry leaves at nine.")

        def delete(_: Received) -> Answer:
            try:
                return alice.client.delete(f"/v1/webhooks/{made['id']}").status_code, {}, b""
            finally:
                # The receiver's thread has a separate connection.
                connection.close()

        receiver.answer = delete
        deliver_all()

        assert not WebhookDelivery.objects.across_namespaces().exists()


def test_old_deliveries_are_forgotten(alice, remember, receiver, subscribe, deliver_all, settings):
    subscribe(alice, receiver.url())
    remember(alice, "The ferry leaves at nine.")
    deliver_all()

    assert log.forget(now=timezone.now() + timedelta(days=29)) == 0
    assert log.forget(now=timezone.now() + timedelta(days=31)) == 1


def test_events_of_every_kind_are_json_without_what_people_typed(alice, remember, receiver, subscribe, deliver_all):
    """Typed reasons are in no event, whatever they were typed for."""
    subscribe(alice, receiver.url())
    first, second = remember(alice, "The ferry leaves at nine."), remember(alice, "The ferry leaves at ten.")
    reason = {"reason": "Marmalade"}
    alice.post(f"/v1/memories/{first}/supersede", {"by": second, **reason})
    alice.post(f"/v1/memories/{second}/pin", reason)
    alice.client.delete(f"/v1/memories/{second}", reason, content_type="application/json")
    alice.post("/v1/documents", {"namespace": "alice", "document_id": str(uuid.uuid4()), "text": "A handbook."})
    alice.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True})
    deliver_all()

    assert {"memory.added", "document.added", "session.reset"} <= set(receiver.types)
    for one in receiver.received:
        assert b"Marmalade" not in one.body
        assert b"hmac:" not in one.body
        assert json.loads(one.body)["data"]
