"""The logins of an account, and its second factor."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from django_otp.oath import totp
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from memory.enums import AuditEvent
from memory.models import AuditLog
from ops import second_factor
from ops.models import StaffSession

URL = "/ops/account/"
RIGHT = "a long password"


@pytest.fixture
def ann(db) -> User:
    return User.objects.create_superuser("ann", password=RIGHT)


def signed_in(user: User, *, browser: str = "Firefox on the desk", address: str = "192.0.2.1") -> Client:
    client = Client(headers={"User-Agent": browser}, REMOTE_ADDR=address)
    client.force_login(user)
    assert client.get(URL).status_code == 200
    return client


def code_of(user: User, *, steps: int = 0) -> str:
    """Return the app's code of now, or of some steps of 30 seconds later."""
    device = TOTPDevice.objects.get(user=user)
    return f"{totp(device.bin_key, drift=steps):06d}"


def enrolled(client: Client, user: User) -> list[str]:
    """Set the second factor up by the pages; return the backup codes."""
    client.post(f"{URL}second-factor/begin/")
    page = client.get(URL).content.decode()
    assert "<svg" in page
    assert "style=" not in page
    answer = client.post(f"{URL}second-factor/confirm/", {"otp_token": code_of(user)})
    codes = re.findall(r"<li>([a-z2-7]{8})</li>", answer.content.decode())
    assert len(codes) == second_factor.BACKUP_CODES
    TOTPDevice.objects.update(throttling_failure_count=0)
    return codes


def sign_in(name: str, password: str, token: str = "") -> tuple[Client, int]:
    client = Client()
    fields = {"username": name, "password": password, "otp_token": token, "next": URL}
    answer = client.post("/admin/login/", fields)
    TOTPDevice.objects.update(throttling_failure_count=0, throttling_failure_timestamp=None)
    return client, answer.status_code


class TestLogins:
    def test_strangers_are_sent_to_the_login(self, db):
        assert Client().get(URL)["Location"].startswith("/admin/login/")
        client = Client()
        client.force_login(User.objects.create_user("guest"))
        assert client.get(URL).status_code == 302

    def test_each_login_is_listed_with_browser_and_address(self, ann):
        here = signed_in(ann)
        signed_in(ann, browser="Safari on a phone", address="198.51.100.9")
        shown = here.get(URL).content.decode()
        for part in ("Firefox on the desk", "Safari on a phone", "198.51.100.9"):
            assert part in shown
        for key in StaffSession.objects.values_list("session_key", flat=True):
            assert key not in shown

    def test_everywhere_else_is_signed_out(self, ann):
        here, there, other = signed_in(ann), signed_in(ann), signed_in(User.objects.create_superuser("bo"))
        here.post(f"{URL}{ann.pk}/logins/end/")
        assert here.get(URL).status_code == 200
        assert there.get(URL).status_code == 302
        assert other.get(URL).status_code == 200
        event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.LOGIN_END)
        assert (event.actor, event.subject, event.details["ended"]) == ("staff:ann", "ann", 1)

    def test_one_login_is_ended(self, ann):
        here, there, third = signed_in(ann), signed_in(ann, browser="Safari"), signed_in(ann)
        marks = dict(re.findall(r'Safari.*?name="(login)" value="(\w+)"', here.get(URL).content.decode(), re.S))
        here.post(f"{URL}{ann.pk}/logins/end/", {"login": marks["login"]})
        assert [one.get(URL).status_code for one in (here, there, third)] == [200, 302, 200]
        assert here.post(f"{URL}{ann.pk}/logins/end/", {"login": "0" * 16}).status_code == 404

    def test_only_who_administers_an_account_sees_and_ends_its_logins(self, ann):
        bo, clerk = User.objects.create_user("bo", is_staff=True), User.objects.create_user("clerk", is_staff=True)
        of_bo, by_clerk, by_ann = signed_in(bo), signed_in(clerk), signed_in(ann)
        assert by_clerk.get(f"{URL}{bo.pk}/").status_code == 403
        assert by_clerk.post(f"{URL}{bo.pk}/logins/end/").status_code == 403
        clerk.user_permissions.add(Permission.objects.get(codename="change_user", content_type__app_label="auth"))
        assert by_clerk.get(f"{URL}{ann.pk}/").status_code == 403
        assert by_clerk.post(f"{URL}{ann.pk}/logins/end/").status_code == 403
        assert by_ann.get(f"{URL}{bo.pk}/").status_code == 200
        by_clerk.post(f"{URL}{bo.pk}/logins/end/")
        assert of_bo.get(URL).status_code == 302
        assert by_ann.get(f"{URL}999999/").status_code == 404

    def test_a_visit_is_written_down_only_now_and_then(self, ann):
        client = signed_in(ann)
        session = StaffSession.objects.get()
        former = session.seen_at
        client.get(URL)
        session.refresh_from_db()
        assert session.seen_at == former
        data = client.session
        data["seen"] = {**data["seen"], "at": (timezone.now() - timedelta(hours=1)).isoformat()}
        data.save()
        client.get(URL)
        session.refresh_from_db()
        assert session.seen_at > former
        assert session.since < session.seen_at

    def test_a_new_password_ends_all_logins_but_the_one_that_set_it(self, ann):
        here, there = signed_in(ann), signed_in(ann)
        passwords = {"old_password": RIGHT, "new_password1": "fresh words 123", "new_password2": "fresh words 123"}
        assert here.post("/admin/password_change/", passwords).status_code == 302
        assert (here.get(URL).status_code, there.get(URL).status_code) == (200, 302)


class TestSecondFactor:
    def test_without_one_the_password_is_enough(self, ann):
        assert sign_in("ann", RIGHT)[1] == 302

    def test_with_one_a_password_alone_opens_nothing(self, ann):
        enrolled(signed_in(ann), ann)
        for token in ("", "000000", "abcdefgh", "' OR 1=1 --"):
            client, status = sign_in("ann", RIGHT, token)
            assert status == 200
            assert client.get(URL).status_code == 302
        assert sign_in("ann", "wrong", code_of(ann, steps=1))[1] == 200
        assert sign_in("ann", RIGHT, code_of(ann, steps=1))[1] == 302

    def test_a_wrong_code_is_answered_like_a_wrong_password(self, ann):
        enrolled(signed_in(ann), ann)

        def said(password: str, token: str) -> str:
            page = Client().post("/admin/login/", {"username": "ann", "password": password, "otp_token": token})
            return "".join(re.findall(r"errornote[^>]*>([^<]+)", page.content.decode()))

        assert said(RIGHT, "000000") == said("wrong", "000000") == said("wrong", "") != ""

    def test_a_code_is_good_once(self, ann):
        enrolled(signed_in(ann), ann)
        code = code_of(ann, steps=1)
        assert [sign_in("ann", RIGHT, code)[1] for _ in range(2)] == [302, 200]

    def test_a_backup_code_is_good_once_and_stored_as_a_hash(self, ann):
        codes = enrolled(signed_in(ann), ann)
        assert not set(codes) & set(StaticToken.objects.values_list("token", flat=True))
        assert [sign_in("ann", RIGHT, codes[0].upper())[1] for _ in range(2)] == [302, 200]
        assert StaticToken.objects.count() == len(codes) - 1

    def test_setting_it_up_ends_the_other_logins(self, ann):
        here, there = signed_in(ann), signed_in(ann)
        enrolled(here, ann)
        assert (here.get(URL).status_code, there.get(URL).status_code) == (200, 302)
        assert AuditLog.objects.across_namespaces().get(event_type=AuditEvent.SECOND_FACTOR_SET).subject == "ann"

    def test_a_wrong_first_code_sets_nothing_up(self, ann):
        client = signed_in(ann)
        client.post(f"{URL}second-factor/begin/")
        client.post(f"{URL}second-factor/confirm/", {"otp_token": "abc"})
        assert not second_factor.is_set_up(ann)
        assert sign_in("ann", RIGHT)[1] == 302

    def test_removing_ones_own_needs_a_code(self, ann):
        client = signed_in(ann)
        codes = enrolled(client, ann)
        url = f"{URL}{ann.pk}/second-factor/remove/"
        client.post(url)
        client.post(url, {"otp_token": "zzzzzzzz"})
        assert second_factor.is_set_up(ann)
        StaticDevice.objects.update(throttling_failure_count=0, throttling_failure_timestamp=None)
        client.post(url, {"otp_token": codes[0]})
        assert not second_factor.is_set_up(ann)
        assert sign_in("ann", RIGHT)[1] == 302

    def test_new_backup_codes_replace_the_former(self, ann):
        client = signed_in(ann)
        former = enrolled(client, ann)
        answer = client.post(f"{URL}backup-codes/", {"otp_token": former[0]})
        fresh = re.findall(r"<li>([a-z2-7]{8})</li>", answer.content.decode())
        assert sign_in("ann", RIGHT, former[1])[1] == 200
        assert len(fresh) == second_factor.BACKUP_CODES
        assert StaticToken.objects.count() == len(fresh)

    def test_an_administrator_takes_a_lost_one_away(self, ann):
        bo = User.objects.create_user("bo", password=RIGHT, is_staff=True)
        of_bo = signed_in(bo)
        enrolled(of_bo, bo)
        signed_in(ann).post(f"{URL}{bo.pk}/second-factor/remove/")
        assert not second_factor.is_set_up(bo)
        assert of_bo.get(URL).status_code == 302
        assert AuditLog.objects.across_namespaces().get(event_type=AuditEvent.SECOND_FACTOR_REMOVE).actor == "staff:ann"

    def test_keys_are_on_no_page_of_the_admin(self, ann):
        client = signed_in(ann)
        enrolled(client, ann)
        for path in ("otp_totp/totpdevice/", "otp_static/staticdevice/", "axes/accessattempt/"):
            assert client.get(f"/admin/{path}").status_code == 404
        assert TOTPDevice.objects.get().key not in client.get(URL).content.decode()


class TestRequired:
    @pytest.fixture(autouse=True)
    def _required(self, settings):
        settings.MEMOS_STAFF_SECOND_FACTOR = "required"

    @pytest.mark.parametrize("path", ["/ops/", "/admin/", "/ops/audit/", "/admin/auth/user/"])
    def test_nothing_opens_but_setting_it_up(self, ann, path):
        client = signed_in(ann)
        assert client.get(path)["Location"] == URL
        assert client.post(path).status_code == 302
        assert client.get(path, headers={"HX-Request": "true"}).status_code == 403
        enrolled(client, ann)
        assert client.get(path).status_code == 200

    def test_one_who_has_it_signs_in_and_works(self, ann):
        codes = enrolled(signed_in(ann), ann)
        client, _status = sign_in("ann", RIGHT, codes[0])
        assert client.get("/ops/").status_code == 200

    def test_one_can_leave(self, ann):
        client = signed_in(ann)
        assert client.post("/admin/logout/").status_code == 200
        assert client.get(URL).status_code == 302
