"""Parts of pages that several tabs and several processes share."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Job, Memory
from memory.stores.redis import call
from ops.views import shared
from ops.views.shared import forget_kept

BOARD = "/ops/overview/live/"
STAGES = "/ops/pipeline/live/"


def only_key() -> bytes:
    [key] = call(lambda client: list(client.scan_iter("memos:part:*")))
    return key


def test_another_process_takes_what_one_has_looked_up(world, staff):
    first = staff.get(BOARD)
    Memory.objects.across_namespaces().delete()
    forget_kept()
    assert staff.get(BOARD).content == first.content


def test_it_serves_for_seconds_only(world, staff, monkeypatch):
    first = staff.get(BOARD).headers["X-Fragment-Version"]
    Job.objects.create(kind="embed_pending", state="failed")
    assert 0 < call(lambda client: client.ttl(only_key())) <= 5
    now = time.time()
    monkeypatch.setattr(shared.time, "time", lambda: now + 5)
    assert staff.get(BOARD).headers["X-Fragment-Version"] != first


def test_a_clock_that_went_back_makes_nothing_last(world, staff, monkeypatch):
    first = staff.get(BOARD).headers["X-Fragment-Version"]
    Job.objects.create(kind="embed_pending", state="failed")
    now = time.time()
    monkeypatch.setattr(shared.time, "time", lambda: now - 3600)
    assert staff.get(BOARD).headers["X-Fragment-Version"] != first


@pytest.mark.parametrize("url", [BOARD, STAGES])
def test_nobody_sees_what_was_looked_up_for_others(world, staff, grant_console, url):
    Job.objects.create(
        kind="embed_pending", state="failed", namespace_id=world.harbour.namespace_id, error_type="HarbourError"
    )
    everything = staff.get(url)
    for client in (grant_console("bakery"), grant_console("harbour"), grant_console("harbour", permissions=())):
        answer = client.get(url, {"v": everything.headers["X-Fragment-Version"]})
        assert answer.status_code == 200
    bakery = grant_console("bakery").get(url).content.decode()
    assert "HarbourError" not in bakery
    assert grant_console("bakery").get(url, {"ns": "harbour"}).status_code == 404


def test_who_may_not_operate_jobs_gets_no_buttons_of_another(world, grant_console):
    Job.objects.create(kind="embed_pending", state="failed", namespace_id=world.harbour.namespace_id)
    operator = grant_console("harbour", permissions=("ops.operate_jobs",)).get(STAGES).content.decode()
    reader = grant_console("harbour").get(STAGES).content.decode()
    assert 'value="discard"' in operator
    assert 'value="discard"' not in reader


def test_each_language_has_its_own(world, staff):
    english = staff.get(BOARD).content.decode()
    staff.cookies["django_language"] = "zh-hans"
    chinese = staff.get(BOARD).content.decode()
    assert "Jobs waiting" in english
    assert "Jobs waiting" not in chinese


def test_a_part_that_someone_else_put_into_redis_is_not_shown(world, staff, caplog):
    staff.get(BOARD)
    key = only_key()
    call(lambda client: client.set(key, b'["v", "<b>forged</b>", 99999999999.0]:bad'))
    forget_kept()
    assert b"forged" not in staff.get(BOARD).content
    call(lambda client: client.set(key, b"\xff\xfe"))
    forget_kept()
    assert staff.get(BOARD).status_code == 200
    assert "was not written by this server" in caplog.text


def test_a_part_signed_for_one_is_not_taken_for_another(world, staff, grant_console):
    everything = staff.get(BOARD).headers["X-Fragment-Version"]
    mine = only_key()
    value = call(lambda client: client.get(mine))
    baker = grant_console("bakery")
    baker.get(BOARD)
    for key in call(lambda client: list(client.scan_iter("memos:part:*"))):
        call(lambda client, key=key: client.set(key, value))
    forget_kept()
    assert baker.get(BOARD).headers["X-Fragment-Version"] != everything


def test_without_redis_each_process_looks_for_itself(world, staff, redis_away):
    redis_away()
    assert staff.get(STAGES).status_code == 200
    assert "Redis does not answer" in staff.get(BOARD).content.decode()


def test_a_page_that_is_opened_is_drawn_anew_though_nothing_has_changed(world, staff, monkeypatch):
    Job.objects.create(kind="embed_pending", state="failed", namespace_id=world.harbour.namespace_id)
    polled = staff.get(STAGES).content.decode()
    later = timezone.now() + timedelta(hours=3, minutes=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    opened = staff.get("/ops/pipeline/").content.decode()
    assert "s ago<" in polled
    assert "3 hours ago<" in opened.replace("\xa0", " ")


def test_a_long_window_takes_what_is_newer_of_another_process(world, staff):
    url = f"{BOARD}?window=30d"
    first = staff.get(url).headers["X-Fragment-Version"]
    mine = dict(shared._kept)
    Job.objects.create(kind="embed_pending", state="failed")
    # In the other process someone opens the page.
    staff.get("/ops/?window=30d")
    shared._kept.clear()
    shared._kept.update(mine)
    assert staff.get(url).headers["X-Fragment-Version"] != first


def test_what_the_address_holds_beside_reaches_nobody_else(world, staff):
    Job.objects.create(kind="embed_pending", state="failed", namespace_id=world.harbour.namespace_id)
    page = staff.get("/ops/pipeline/", {"state": "failed", "for": "evil"}).content.decode()
    assert "for=evil" not in page.split('id="jobs"')[1]
    for number in range(3):
        staff.get(STAGES, {"state": "failed", "for": str(number)})
    assert len(shared._kept) == 3


def test_so_many_are_kept_and_no_more(world, staff, monkeypatch):
    monkeypatch.setattr(shared, "_MAX_KEPT", 4)
    for kind in "abcdef":
        staff.get(STAGES, {"kind": kind})
    assert len(shared._kept) == 4


def test_what_nobody_asks_for_is_dropped(world, staff, monkeypatch):
    staff.get(BOARD)
    now = time.time()
    monkeypatch.setattr(shared.time, "time", lambda: now + 120)
    staff.get(STAGES)
    assert len(shared._kept) == 3
