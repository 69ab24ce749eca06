"""Policies in the browser: previewed, then saved, then put back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.models import Memory
from memory.services.tenancy import policy
from tests.e2e.conftest import MATRIX, check
from tests.ops.conftest import NOW


@pytest.mark.parametrize(("theme", "width"), MATRIX)
def test_the_policy_of_a_namespace(open_page, root, world, theme, width):
    policy.put_policy(world.harbour, wanted={"ttl_days": 30}, reason="First", now=NOW)
    policy.put_policy(world.harbour, wanted={"ttl_days": 60}, reason="Second", now=NOW)
    page = open_page("/ops/policies/?ns=harbour", client=root, theme=theme, width=width)
    expect(page.get_by_label("Time to live")).to_have_value("60")
    check(page, f"policies-{theme}-{width}")
    page.goto("/ops/policies/")
    check(page, f"policies-namespaces-{theme}-{width}")


@pytest.mark.parametrize(("theme", "width"), MATRIX)
def test_preview_then_save(open_page, root, world, theme, width):
    Memory.objects.across_namespaces().update(created_at=timezone.now() - timedelta(days=40))
    page = open_page("/ops/policies/?ns=harbour", client=root, theme=theme, width=width)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    page.get_by_label("Time to live").fill("20")
    page.get_by_label("Why").fill("Old news")
    page.get_by_role("button", name="Preview").press("Enter")
    expect(page.get_by_text("The next sweep would archive")).to_be_visible()
    check(page, f"policies-preview-{theme}-{width}")
    assert policy.governing(world.harbour.namespace_id).version == 0
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("Saved: version 1 is in force.")).to_be_visible()
    assert policy.governing(world.harbour.namespace_id).overrides == {"ttl_days": 20}


@pytest.mark.parametrize(("theme", "width"), MATRIX)
def test_mistakes_and_who_may_only_look(open_page, root, world, grant_console, watched, theme, width):
    watched.expected.append("400")
    page = open_page("/ops/policies/?ns=harbour", client=root, theme=theme, width=width)
    page.get_by_label("Time to live").fill("soon")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("Time to live must be a whole number")
    check(page, f"policies-wrong-{theme}-{width}")
    page = open_page("/ops/policies/?ns=harbour", client=grant_console("harbour"), theme=theme, width=width)
    expect(page.get_by_role("button", name="Preview")).to_have_count(0)
    check(page, f"policies-looking-{theme}-{width}")
