"""Policies in the browser: a change is previewed, saved and reverted."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import expect

from memory.models import Memory
from memory.services.tenancy import policy
from tests.e2e.conftest import check_looks
from tests.ops.conftest import NOW


def test_the_policy_of_a_namespace(open_page, root, world):
    policy.put_policy(world.harbour, wanted={"ttl_days": 30}, reason="First", now=NOW)
    policy.put_policy(world.harbour, wanted={"ttl_days": 60}, reason="Second", now=NOW)
    page = open_page("/ops/policies/?ns=harbour", client=root)
    expect(page.get_by_label("Time to live")).to_have_value("60")
    fields = [page.get_by_label("Time to live"), page.get_by_label("Why")]
    check_looks(page, "policies", pressed=[*fields, page.get_by_role("button", name="Preview")])
    page.goto("/ops/policies/")
    check_looks(page, "policies-namespaces")


def test_preview_then_save(open_page, root, world):
    Memory.objects.across_namespaces().update(created_at=timezone.now() - timedelta(days=40))
    page = open_page("/ops/policies/?ns=harbour", client=root)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    page.get_by_label("Time to live").fill("20")
    page.get_by_label("Why").fill("Old news")
    page.get_by_role("button", name="Preview").press("Enter")
    save = page.get_by_role("button", name="Save")
    check_looks(page, "policies-preview", page.get_by_text("The next sweep would archive"), pressed=[save])
    assert policy.governing(world.harbour.namespace_id).version == 0
    save.press("Enter")
    expect(page.get_by_text("Saved: version 1 is in force.")).to_be_visible()
    assert policy.governing(world.harbour.namespace_id).overrides == {"ttl_days": 20}


def test_mistakes_and_who_may_only_look(open_page, root, world, grant_console, watched):
    watched.expected.append("400")
    page = open_page("/ops/policies/?ns=harbour", client=root)
    page.get_by_label("Time to live").fill("soon")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("Time to live must be a whole number")
    check_looks(page, "policies-wrong")
    page = open_page("/ops/policies/?ns=harbour", client=grant_console("harbour"))
    expect(page.get_by_role("button", name="Preview")).to_have_count(0)
    check_looks(page, "policies-looking")
