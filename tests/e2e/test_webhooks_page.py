"""Webhooks in the browser: the list with its form, one webhook with its log, and no namespace chosen."""

from __future__ import annotations

from tests.e2e.conftest import check_looks
from tests.ops.test_webhooks_page import told  # noqa: F401 - the same world as its page tests


def test_the_list(open_page, root, told):  # noqa: F811
    page = open_page("/ops/webhooks/?ns=harbour", client=root)
    check_looks(
        page, "webhooks", page.get_by_text("the port's CRM"), page.get_by_role("button", name="Make the webhook")
    )


def test_one_webhook(open_page, root, told):  # noqa: F811
    page = open_page(f"/ops/webhooks/{told.pk}/", client=root)
    check_looks(page, "webhook", page.get_by_role("button", name="Send a test"), page.get_by_text("memory.added").first)


def test_without_one(open_page, root, world):
    page = open_page("/ops/webhooks/", client=root)
    check_looks(page, "webhooks-empty", page.get_by_text("Choose a namespace above"))
