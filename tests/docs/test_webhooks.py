"""The code of the guide to webhooks runs as it is: its receiver accepts deliveries, its reader follows the feed."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stdout
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from django.utils import timezone

from memory.enums import EventType
from memory.services.webhooks import deliver
from tests.docs.pages import DOCS, blocks

PAGE = DOCS / "guides" / "connect.md"


def code(containing: str) -> str:
    (found,) = [one.text for one in blocks(PAGE.read_text("utf-8")) if containing in one.text]
    return str(found)


def test_every_type_of_event_is_told():
    page = PAGE.read_text("utf-8")
    assert [one for one in EventType.values if f"`{one}`" not in page] == []


@pytest.mark.django_db(transaction=True)
def test_the_receiver_takes_what_is_signed_and_nothing_else(alice, remember, settings, monkeypatch):
    settings.MEMOS_WEBHOOK_PRIVATE = True
    with ThreadingHTTPServer(("127.0.0.1", 0), None) as server:  # type: ignore[arg-type]
        url = f"http://127.0.0.1:{server.server_port}/"
        made = alice.post("/v1/webhooks", {"namespace": "alice", "url": url}).json()
        monkeypatch.setenv("WEBHOOK_SECRET", made["secret"])
        page: dict[str, Any] = {"__name__": "the page"}
        exec(compile(code("from standardwebhooks import"), str(PAGE), "exec"), page)
        page["Receiver"].log_message = lambda *_: None
        server.RequestHandlerClass = page["Receiver"]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

        memory_id = remember(alice, "The ferry leaves at nine.")
        with redirect_stdout(io.StringIO()) as told:
            (lease,) = deliver.claim(limit=1, now=timezone.now())
            assert deliver.deliver_due(lease, clock=timezone.now) == 1
        alice.post(f"/v1/webhooks/{made['id']}/secret", {"keep_hours": 0})
        remember(alice, "The ferry leaves at ten.")
        (lease,) = deliver.claim(limit=1, now=timezone.now())
        deliver.deliver_due(lease, clock=timezone.now)
        server.shutdown()

    assert told.getvalue().startswith("memory.added ")
    assert memory_id in told.getvalue()
    listed = alice.get(f"/v1/webhooks/{made['id']}/deliveries").json()["deliveries"]
    assert [one["tries"][-1]["status"] for one in listed] == [401, 204]


@pytest.mark.django_db(transaction=True)
def test_the_reader_follows_the_feed(alice, remember, live_server):
    page: dict[str, Any] = {}
    exec(compile(code("def follow("), str(PAGE), "exec"), page)
    first = remember(alice, "The ferry leaves at nine.")
    following = page["follow"](live_server.url, alice.token, "alice", cursor="")
    changes, cursor = next(following)
    second = remember(alice, "The ferry leaves at ten.")
    more, _ = next(page["follow"](live_server.url, alice.token, "alice", cursor=cursor))

    assert [one["data"]["memory_ids"] for one in changes + more] == [[first], [second]]
