"""Hostile parameters of the console get a clear answer, never a server error or a redirect to another site."""

from __future__ import annotations

from itertools import product

import pytest
from django.contrib import admin
from django.urls import reverse

FAR = ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "9999-12-31", "0001-01-01")
NUMBERS = ("--5", "9" * 40, "１２３", "²", "1e309", "nan", "x" * 5000)


def test_a_moment_out_of_reach_is_none(world, staff):
    for name, moment in product(("from", "to"), FAR):
        assert staff.get("/ops/audit/", {name: moment}).status_code == 404, (name, moment)


def test_a_place_that_is_none(world, staff):
    paths = ("/ops/sessions/one/", "/ops/audit/requests/", "/ops/sessions/", "/ops/audit/")
    for path, number in product(paths, NUMBERS):
        where = {"ns": "harbour", "session": "night shift", "cursor": number}
        assert staff.get(path, where).status_code == 404, (path, number)


@pytest.mark.parametrize("moment", FAR)
def test_a_place_at_a_moment_out_of_reach(world, staff, moment):
    assert staff.get("/ops/sessions/", {"cursor": f"{moment}~1~x"}).status_code == 404
    assert staff.get("/ops/sessions/", {"cursor": f"2026-01-01T00:00:00+00:00~{'9' * 40}~x"}).status_code == 404
    some = f"{moment}_00000000-0000-0000-0000-000000000000"
    assert staff.get("/ops/entities/", {"ns": "harbour", "cursor": some}).status_code == 200
    fading = {"namespace": "harbour", "picked": f"fading:at={moment};due=1"}
    assert staff.get("/admin/memory/memory/", fading).status_code < 500


@pytest.mark.parametrize("page", ["ops:inspector", "ops:radar", "ops:audit", "ops:entities", "ops:pipeline"])
def test_a_parameter_that_is_called_like_a_method(world, staff, page):
    for name in ("items", "keys", "urlencode", "lists", "copy", "get"):
        assert staff.get(reverse(page), {name: "-1", "ns": "harbour"}).status_code == 200, name


def test_the_why_form_keeps_the_address(world, staff):
    answer = staff.get("/ops/inspector/", {"ns": "harbour", "items": '"><b>', "session": "night shift"})
    text = answer.content.decode()
    assert '<input type="hidden" name="items" value="&quot;&gt;&lt;b&gt;">' in text
    assert '<input type="hidden" name="session"' not in text


ACTIONS = ["ops:operate_jobs", "ops:session_reset_now", "ops:evaluation_start", "ops:decay_curate", "ops:map_find",
           "ops:map_draw", "ops:policy_change", "ops:quarantine_decide", "ops:audit_export"]  # fmt: skip


def test_a_nul_in_a_form_is_refused(world, staff):
    for action, name in product(ACTIONS, ("ns", "namespace", "next", "a\0b")):
        assert staff.post(reverse(action), {name: "a\0b", "form": "csv"}).status_code == 400, (action, name)


def test_a_nul_in_the_filters_of_an_export_is_left_out(world, staff):
    answer = staff.post("/ops/audit/export/", {"form": "csv", "query": "ns=harbour%00&actor=a%00"})
    assert answer.status_code == 200
    assert b"".join(answer.streaming_content).startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(
    ("wanted", "leads_to"),
    [
        ("/ops/\r\nX-A: b", "/ops/%0D%0AX-A:%20b"),
        ("/ops/sessions/?session=夜班", "/ops/sessions/?session=%E5%A4%9C%E7%8F%AD"),
        ("//evil.example", "/ops/pipeline/"),
        ("/\\evil.example", "/ops/pipeline/"),
        ("javascript:alert(1)", "/ops/pipeline/"),
        ("https://evil.example/", "/ops/pipeline/"),
    ],
)
def test_where_a_deed_leads_back_to(world, staff, wanted, leads_to):
    answer = staff.post("/ops/pipeline/jobs/operate/", {"next": wanted})
    assert (answer.status_code, answer.headers["Location"]) == (303, leads_to)
    assert "X-A" not in answer.headers


def test_a_field_of_a_row_that_is_none_is_refused_in_every_list_and_page(world, staff):
    """Django takes relations from other models for fields, and fails on them and on the empty name."""
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        row = model._base_manager.order_by("pk").first()
        pages = [reverse(f"{name}_changelist"), *([reverse(f"{name}_change", args=[row.pk])] if row else [])]
        relations = [one.name for one in model._meta.get_fields(include_hidden=True) if not one.concrete]
        for page in pages:
            assert staff.get(page, {"_to_field": ""}).status_code == 200, page
            for field in {*relations, "nonsense", "pk__in"}:
                assert staff.get(page, {"_to_field": field}).status_code == 400, (page, field)
