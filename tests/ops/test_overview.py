from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory.services import health, stats
from memory.types import system_access

URL = "/ops/"


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
    assert "0 of 4 done" in page or "1 of 4 done" in page
    assert "/v1/ingest" in page
    assert "None yet." in page


def test_tiles_show_what_the_services_count(staff, world):
    page = staff.get(URL).content.decode()
    values = dict(
        re.findall(r'tile-title">(?:<a[^>]*>)?([^<]+?)(?:</a>)?</span>\s*<span class="tile-value">([^<]+)<', page)
    )
    assert values["Memories"] == "5"
    assert values["Archived"] == "0"
    assert values["Tokens saved"] == f"{stats.summary_tokens(system_access('test')).saved:,}"
    assert 'href="/admin/memory/memory/?state__exact=active"' in page
    assert "night shift #1" in page
    assert "KEY_ISSUE" in page


def test_a_part_that_is_down_is_named(staff, world, monkeypatch):
    monkeypatch.setattr(health, "_redis", lambda: "does not answer: queries go without the session window")
    monkeypatch.setattr(stats, "call", _away)
    page = staff.get(URL).content.decode()
    assert "does not answer: queries go without the session window" in page
    assert "Needs a look" in page
    assert "unknown (Redis is away)" in page


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
    page = client.get(URL).content.decode()
    assert "night shift" not in page
    assert "/admin/memory/memory/" not in page


def test_the_page_costs_a_bounded_number_of_queries(staff, world, django_assert_max_num_queries):
    with django_assert_max_num_queries(26):
        staff.get(URL)


def _away(operation):
    from memory.stores.redis import RedisAway

    raise RedisAway("away")
