from __future__ import annotations

import html
import logging
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memory.models import ContextPack, Memory, Namespace, WritesOfDay
from memory.services.ingestion.ingest import ingest_batch
from memory.services.monitoring import health, stats
from memory.services.tenancy import policy
from memory.services.usage.saved import count_saved
from memory.stores import model_calls
from memory.types import NewMemory, system_access
from tests.ops.conftest import NOW, scope_of, turns
from tests.vectorless import take_vectors

URL = "/ops/"
TILE = r'tile-title">(?:<a[^>]*>)?([^<]+?)(?:</a>)?</span>\s*<span class="tile-line"><span class="tile-value">([^<]+)<'


@pytest.mark.django_db
def test_others_than_staff_are_sent_to_the_login():
    client = Client()
    assert client.get(URL).headers["Location"].startswith("/admin/login/")
    client.force_login(User.objects.create_user("guest"))
    assert client.get(URL).headers["Location"].startswith("/admin/login/")


def test_only_reading_is_possible(staff):
    assert staff.post(URL).status_code == 405


def test_an_empty_server_shows_the_first_steps(staff):
    page = staff.get(URL).content.decode()
    assert "0 of 5 done" in page
    assert "/v1/ingest" in page


def test_the_first_steps_are_done_one_by_one(staff, db):
    """The demo stores no memory for the newcomer: each step needs what the previous one has stored."""
    demo = NewMemory("kickoff", "user", "The launch is on Monday.", metadata={"demo": "kickoff"})
    ingest_batch([(scope_of("demo"), demo)], now=NOW)
    assert "0 of 5 done" in staff.get(URL).content.decode()
    turns(scope_of("demo"), "first", "Ann prefers window seats.")
    page = staff.get(URL).content.decode()
    assert "1 of 5 done" in page
    assert "Where does Ann like to sit?" in html.unescape(page)
    pack = {"session": "second", "query_text": "?", "retrieved_count": 1, "token_original": 1, "token_condensed": 1}
    ContextPack.objects.create(namespace_id=scope_of("demo").namespace_id, pack={}, **pack)
    assert "2 of 5 done" in staff.get(URL).content.decode()
    staff.post(
        "/ops/radar/ask/", {"text": "Where does she sit?", "namespace": "demo", "a-top_k": 5, "b-top_k": 5}, follow=True
    )
    assert "3 of 5 done" in staff.get(URL).content.decode()


def test_what_needs_attention_leads_to_where_it_is_decided(staff, world):
    Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(review="contradiction")
    page = html.unescape(staff.get(URL, {"ns": "harbour"}).content.decode())
    assert 'href="/ops/quarantine/?ns=harbour&review=contradiction"' in page


def test_memories_without_a_vector_are_listed_where_the_overview_counts_them(staff, world):
    take_vectors(*world.ids[:2])
    page = html.unescape(staff.get(URL, {"ns": "harbour"}).content.decode())
    [link] = re.findall(r'2 memories have no vector yet: only words find them.*?href="([^"]+)"', page, re.S)
    listed = staff.get(link).content.decode()
    assert all(str(one) in listed for one in world.ids[:2])
    assert str(world.ids[2]) not in listed


def test_tiles_show_what_the_services_count(staff, world):
    page = staff.get(URL).content.decode()
    values = dict(re.findall(TILE, page))
    assert values["Memories"] == "5"
    assert values["Tokens saved"] == f"{count_saved(system_access('test'), now=timezone.now()).saved:,}"
    assert 'href="/admin/memory/memory/?state__exact=active"' in page
    assert "0 more archived" in page


def test_a_part_that_is_down_is_named(staff, world, monkeypatch):
    monkeypatch.setattr(health, "_redis", lambda: "does not answer: queries go without the session window")
    monkeypatch.setattr(stats, "call", _away)
    page = staff.get(URL).content.decode()
    assert "Redis does not answer: queries go without the session window." in page
    assert "Whether a worker runs is unknown" in page


def test_nothing_inline_and_nothing_from_elsewhere(staff, world):
    response = staff.get(URL)
    page = response.content.decode()
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert " style=" not in page
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)", page)
    assert not re.search(r'(?:src|href)="https?://', page)
    assert not re.search(r"\son\w+=", page)


def test_staff_without_permissions_see_no_rows_of_tenants(world, db):
    client = Client()
    client.force_login(User.objects.create_user("clerk", is_staff=True))
    response = client.get(URL)
    page = response.content.decode()
    assert response.status_code == 403
    assert "Can open the console" in page
    assert "night shift" not in page
    assert "/admin/memory/memory/" not in page


def test_staff_count_what_was_granted_to_them(world, grant_console):
    client = grant_console("bakery")
    page = client.get(URL).content.decode()
    assert re.search(r'Memories</span>\s*<span class="tile-line"><span class="tile-value">1<', page)
    assert "harbour" not in page
    assert client.get(URL, {"ns": "harbour"}).status_code == 404


def test_a_fragment_that_did_not_change_is_not_sent_again(staff, world):
    first = staff.get(f"{URL}overview/live/", headers={"HX-Request": "true"})
    version = first.headers["X-Fragment-Version"]
    again = staff.get(f"{URL}overview/live/", {"v": version}, headers={"HX-Request": "true"})
    assert (first.status_code, again.status_code, again.content) == (200, 204, b"")


def test_a_poll_without_news_is_no_line_of_the_log(staff, world, caplog):
    caplog.set_level(logging.INFO, logger="memos.request")
    version = staff.get(f"{URL}overview/live/").headers["X-Fragment-Version"]
    assert [record.status for record in caplog.records] == [200]
    staff.get(f"{URL}overview/live/", {"v": version})
    assert [record.status for record in caplog.records] == [200]


def test_tabs_that_poll_together_cost_one_count(staff, world, django_assert_max_num_queries):
    staff.get(f"{URL}overview/live/")
    with django_assert_max_num_queries(2):  # the session and the user
        staff.get(f"{URL}overview/live/")


def test_an_ended_session_is_told_to_a_fragment(db):
    response = Client().get(f"{URL}overview/live/", headers={"HX-Request": "true"})
    assert response.status_code == 401


def test_what_waits_for_someone_is_named_with_its_rows(staff, world):
    Memory.objects.across_namespaces().filter(pk=world.hostile).update(review="contradiction")
    page = staff.get(URL).content.decode()
    assert "1 memory contradicts another" in page
    assert "/ops/quarantine/?review=contradiction" in page
    assert staff.get("/admin/memory/memory/?review__exact=contradiction").status_code == 200


def test_chinese_where_it_is_asked_for(staff, world):
    page = staff.get(URL, headers={"Accept-Language": "zh-CN"}).content.decode()
    assert '<html lang="zh-hans">' in page


def test_the_api_speaks_english_whatever_it_is_asked_for(alice):
    answer = alice.client.post("/v1/query", {}, content_type="application/json", headers={"Accept-Language": "zh-CN"})
    assert "is missing." in answer.content.decode()
    assert "Content-Language" not in answer.headers


def test_the_page_costs_a_bounded_number_of_queries(staff, world, django_assert_max_num_queries):
    with django_assert_max_num_queries(34):
        staff.get(URL)


def _away(operation):
    from memory.errors import RedisAway

    raise RedisAway("away")


@pytest.mark.parametrize("query", ["", "?ns=harbour&window=7d"])
def test_every_link_leads_somewhere(staff, world, query):
    Memory.objects.across_namespaces().filter(pk=world.hostile).update(review="contradiction")
    Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(review="wrong")
    page = staff.get(URL + query).content.decode()
    links = {html.unescape(link) for link in re.findall(r'href="(/(?:ops|admin)/(?!login)[^"]*)"', page)}
    assert len(links) > 6
    answers = {link: staff.get(link) for link in links}
    assert {link: answer.status_code for link, answer in answers.items() if answer.status_code != 200} == {}


def tile(page: str, title: str) -> str:
    return html.unescape(re.search(rf'<li class="card tile[^>]*>(?:(?!</li>).)*?>{title}<.*?</li>', page, re.S)[0])


def test_totals_say_how_far_they_moved_in_the_window(staff, world):
    page = staff.get(URL, {"window": "24h"}).content.decode()
    assert "5 came in the last 24 hours, 0 in the same time before" in tile(page, "Memories")
    assert "title=" not in tile(page, "Tokens saved")
    assert "title=" not in tile(page, "Active sessions")


def test_overview_usage_and_api_say_the_same_of_tokens_saved(staff, world):
    ContextPack.objects.across_namespaces().update(token_original=5_000, token_condensed=1_250)

    overview = tile(staff.get(URL).content.decode(), "Tokens saved")
    usage = tile(staff.get("/ops/usage/", {"window": "30d"}).content.decode(), "Tokens saved")
    counted = stats.totals(system_access("test"))

    assert "3,750" in overview
    assert "3,750" in usage
    assert (counted["token_savings"], counted["compression_ratio"]) == (3_750, 0.25)


def test_a_quota_that_is_nearly_used_up_is_named_with_where_it_is_changed(staff, world, grant_console):
    policy.put_policy(world.harbour, wanted={"quota": {"memories": 4}}, now=NOW)
    bakery = Namespace.objects.get(name="bakery")
    policy.put_policy(scope_of("bakery"), wanted={"quota": {"memories": 50, "writes_per_day": 10}}, now=NOW)
    WritesOfDay.objects.create(namespace=bakery, day=timezone.now().date(), memories=9)
    page = html.unescape(staff.get(URL).content.decode())
    assert "“harbour” has used up its quota: what comes in goes to quarantine. Memories held: 4 of 4" in page
    assert "“bakery” has nearly used up its quota. Memories added today: 9 of 10" in page
    assert 'href="/ops/policies/?ns=harbour#quota.memories"' in page
    assert "harbour" not in grant_console("bakery").get(URL).content.decode()
    WritesOfDay.objects.across_namespaces().update(memories=8)
    assert "“bakery”" not in staff.get(URL).content.decode()


def test_a_quota_of_the_environment_counts_for_every_namespace(staff, world, settings):
    settings.MEMOS_POLICY = {**settings.MEMOS_POLICY, "quota.memories": 4}
    page = html.unescape(staff.get(URL).content.decode())
    assert "“harbour” has used up its quota" in page
    assert "“bakery”" not in page


def test_a_model_says_when_it_last_answered(staff, world):
    model_calls.forget()
    page = staff.get(URL).content.decode()
    turns(world.harbour, "night shift", "The fog lifts at noon.")
    assert "Last good answer" in staff.get(URL).content.decode()
    assert abs(model_calls.last_answers()["embedding"] - timezone.now()) < timedelta(minutes=1)
    assert "Language model" in page
