from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.test import Client

from memory.errors import WindowUnavailable
from memory.models import AuditLog, Condensation, Memory, Session
from memory.services.sessions import reset
from ops.pages import sessions as page_of_sessions
from tests.ops.conftest import HOSTILE, turns

URL = "/ops/sessions/"
ODD = "a/b ?&#%25 <i>名前</i> ../x"


def one(client: Client, ns: str = "harbour", session: str = "night shift", **query: str):
    return client.get(f"{URL}one/", {"ns": ns, "session": session, **query})


def test_sessions_out_of_reach_do_not_exist(world, grant_console):
    baker = grant_console("bakery", permissions=("ops.reset_session",))
    assert "night shift" not in baker.get(URL).content.decode()
    assert one(baker).status_code == 404
    assert baker.get(f"{URL}reset/", {"ns": "harbour", "session": "night shift"}).status_code == 404
    body = {"ns": "harbour", "session": "night shift", "confirm": "night shift"}
    assert baker.post(f"{URL}reset/now/", body).status_code == 404
    assert one(baker, session="nothing").status_code == 404
    assert Memory.objects.across_namespaces().filter(session="night shift").count() == 4


def test_the_list_counts_what_the_tables_hold(world, staff):
    page = staff.get(URL).content.decode()
    assert page.count('<tr><td data-label="Session"') == Session.objects.across_namespaces().count()
    tokens = sum(Memory.objects.across_namespaces().filter(session="night shift").values_list("tokens", flat=True))
    assert f'data-label="Tokens">{tokens}<' in page
    assert "Covers all" in page
    assert "None yet" in page
    assert "recipes" not in staff.get(URL, {"q": "night"}).content.decode()


def test_the_list_goes_on_where_it_ended(world, staff, monkeypatch):
    monkeypatch.setattr(page_of_sessions, "PAGE", 3)
    for number in range(5):
        turns(world.harbour, f"{ODD}{number}", "The tide turns.")
    seen, url = [], URL
    while url:
        page = staff.get(url)
        seen += [row.listed.name for row in page.context["rows"]]
        url = f"{URL}?{urlencode({'cursor': page.context['older']})}" if page.context["older"] else ""
    assert sorted(seen) == sorted(Session.objects.across_namespaces().values_list("name", flat=True))
    assert staff.get(URL, {"cursor": "nonsense"}).status_code == 404


def test_any_text_can_be_a_name(world, staff):
    turns(world.harbour, ODD, "The tide turns at four.")
    [row] = [row for row in staff.get(URL).context["rows"] if row.listed.name == ODD]
    page = staff.get(row.link)
    assert page.status_code == 200
    assert "The tide turns at four." in page.content.decode()
    assert "<i>名前</i>" not in page.content.decode()


def test_a_session_shows_window_card_and_turns(world, staff):
    page = one(staff).content.decode()
    assert page.count('<li class="said said-user">') == 8  # four in the window, four turns
    assert "northern gate" in page
    assert "<script>alert" not in page
    assert HOSTILE[:8] not in page
    assert AuditLog.objects.across_namespaces().get(event_type="SESSION_VIEW").session == "night shift"


def test_texts_are_masked_without_the_permission(world, grant_console):
    page = one(grant_console("harbour")).content.decode()
    assert "buoy seven" not in page
    assert "northern gate" not in page
    assert "•••" in page
    assert not AuditLog.objects.across_namespaces().filter(event_type="SESSION_VIEW").exists()


def test_a_session_without_redis_says_so(world, staff, monkeypatch):
    def away(*_):
        raise WindowUnavailable("away")

    monkeypatch.setattr(page_of_sessions, "read_window", away)
    assert "Redis does not answer" in one(staff).content.decode()
    monkeypatch.setattr(reset.window, "exists", away)
    page = staff.get(f"{URL}reset/", {"ns": "harbour", "session": "night shift"})
    assert page.status_code == 503
    assert 'name="confirm"' not in page.content.decode()


def test_a_reset_shows_first_what_would_go_and_needs_the_name(world, staff):
    where = {"ns": "harbour", "session": "night shift"}
    form = staff.get(f"{URL}reset/", where)
    would = {str(count.store): count.count for count in form.context["counts"]}
    assert would["Memories"] == 4
    assert would["Summaries"] == Condensation.objects.across_namespaces().filter(session="night shift").count()
    assert would["Packs"] == 1
    assert would["Redis"] == 1
    wrong = staff.post(f"{URL}reset/now/", {**where, "confirm": "Night shift"})
    assert wrong.status_code == 422
    assert Memory.objects.across_namespaces().filter(session="night shift").count() == 4
    receipt = staff.post(f"{URL}reset/now/", {**where, "confirm": "night shift"})
    assert {str(count.store): count.count for count in receipt.context["counts"]} == would
    assert not Memory.objects.across_namespaces().filter(session="night shift").exists()
    event = AuditLog.objects.across_namespaces().get(event_type="SESSION_RESET")
    assert event.actor == "staff:ann"
    assert event.details["memories"] == 4
    assert event.details["audit_hidden"] == 0
    assert event.request_id


def test_a_reset_is_for_those_who_may_and_never_by_a_link(world, staff, grant_console):
    reader = grant_console("harbour")
    where = {"ns": "harbour", "session": "night shift"}
    assert reader.get(f"{URL}reset/", where).status_code == 403
    assert reader.post(f"{URL}reset/now/", {**where, "confirm": "night shift"}).status_code == 403
    assert "Reset…" not in one(reader).content.decode()
    assert staff.get(f"{URL}reset/now/", where).status_code == 405
    assert Memory.objects.across_namespaces().filter(session="night shift").count() == 4


@pytest.mark.parametrize("count", [10, 500])
def test_the_list_costs_as_many_queries_for_many_sessions(world, staff, django_assert_max_num_queries, count):
    Session.objects.bulk_create(
        Session(namespace_id=world.harbour.namespace_id, name=f"s{number}", message_count=1) for number in range(count)
    )
    with django_assert_max_num_queries(6):
        staff.get(URL)


@pytest.mark.parametrize("count", [10, 500])
def test_a_session_costs_as_many_queries_for_many_turns(world, staff, django_assert_max_num_queries, count):
    turns(world.harbour, "long", *(f"Turn {number} of the tide." for number in range(count)))
    with django_assert_max_num_queries(14):
        one(staff, session="long")
