"""kill -9 of the worker between the commit of a change and the end of its delivery: nothing is lost."""

from __future__ import annotations

import pytest

from memory.enums import DeliveryState
from memory.models import Webhook, WebhookDelivery
from tests.crash.cluster import Cluster
from tests.crash.server import wait_for
from tests.services.webhooks.receiver import Received, receiving


@pytest.mark.django_db(transaction=True)
def test_what_was_committed_is_delivered_after_a_kill_perhaps_twice_under_one_id(alice, remember, settings, tmp_path):
    settings.MEMOS_WEBHOOK_PRIVATE = True
    with receiving() as receiver:

        def keep_waiting(_: Received) -> tuple[int, dict[str, str], bytes]:
            receiver.closing.wait(60)
            return 500, {}, b""

        receiver.answer = keep_waiting
        made = alice.post("/v1/webhooks", {"namespace": "alice", "url": receiver.url()}).json()
        # The change is committed while there is no worker.
        first = remember(alice, "The ferry leaves at nine.")
        cluster = Cluster(tmp_path / "cluster.log", MEMOS_WEBHOOK_PRIVATE="1")
        try:
            wait_for(lambda: receiver.received, what="a message that is not answered")
            cluster.kill()
            second = remember(alice, "The ferry leaves at ten.")
            receiver.answer = lambda _: (204, {}, b"")
            # This is the state after the lease of the killed process has expired.
            Webhook.objects.across_namespaces().update(leased_until=None)
            cluster.start_again()

            delivered = WebhookDelivery.objects.across_namespaces().filter(state=DeliveryState.DELIVERED)
            wait_for(lambda: delivered.count() == 2, what="both events delivered")
        finally:
            cluster.stop()

    events = [one.verify(made["secret"]) for one in receiver.received]
    told = {one["id"]: one["data"]["memory_ids"] for one in events}
    assert sorted(told.values()) == sorted([[first], [second]])
    assert len(events) == 3
    assert events[0]["id"] == events[1]["id"]
