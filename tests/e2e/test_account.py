"""Signing in, the account page and the second factor, in a browser."""

from __future__ import annotations

from django.contrib.auth.models import User
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.sync_api import expect

from ops import second_factor
from tests.e2e.conftest import check, check_looks


def test_logins_and_an_enrolment(open_page, root):
    second_factor.begin(User.objects.get(username="root"))
    page = open_page("/ops/account/", client=root)
    check_looks(page, "account", page.locator(".qr svg"), page.locator("#otp"))


def test_what_is_shown_once(open_page, root):
    page = open_page("/ops/account/", client=root)
    page.get_by_role("button", name="Set up a second factor").click()
    expect(page.locator("#otp")).to_be_visible()
    device = TOTPDevice.objects.get()
    page.locator("#otp").fill(f"{totp(device.bin_key):06d}")
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator(".codes li")).to_have_count(second_factor.BACKUP_CODES)
    check(page, "account-codes")


def test_signing_in_and_being_locked_out(open_page, watched, settings):
    watched.expected.append("429")
    User.objects.create_superuser("boss", password="a long password")
    settings.AXES_FAILURE_LIMIT = 2
    page = open_page("/admin/login/", timezone_id="UTC")
    check(page, "sign-in")
    for _ in range(2):
        page.locator("#id_username").fill("boss")
        page.locator("#id_password").fill("wrong")
        with page.expect_navigation():
            page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Signing in is locked for a while")).to_be_visible()
    check(page, "locked-out")
