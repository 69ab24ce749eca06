"""The sign-in of staff: sessions that record their user, accounts with a second factor, and the limit of failures.

A session is read from Redis, or else from the database. An account is read from the database by every request, so that
revoked permissions take effect with the next one.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from axes.backends import AxesStandaloneBackend
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import SESSION_KEY, authenticate
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends import cached_db
from django.db import DEFAULT_DB_ALIAS
from django.forms import CharField, TextInput
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ops import second_factor
from ops.models import StaffSession
from ops.queries import find_account

# Key in a session's data for its beginning, the last visit, the address and the browser.
SEEN = "seen"


class SessionStore(cached_db.SessionStore):
    """Django's sessions, in the database and for a minute in Redis, each with its user."""

    @classmethod
    def get_model_class(cls) -> type[StaffSession]:
        return StaffSession

    def create_model_instance(self, data: dict[str, Any]) -> StaffSession:
        row = super().create_model_instance(data)
        assert isinstance(row, StaffSession)
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        if seen := data.get(SEEN):
            row.address, row.browser = seen["address"], seen["browser"]
            row.since, row.seen_at = (datetime.fromisoformat(seen[name]) for name in ("since", "at"))
        return row

    def _validate_session_key(self, key: str) -> bool:
        # Only keys as Django generates them are looked up; the database would refuse others, such as one with NUL.
        return bool(key) and len(key) >= 8 and key.isascii() and key.isalnum()


class AccountBackend(ModelBackend):
    """Names, passwords and permissions as in Django, and the second factor of those who set one up."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        otp_token: str = "",
        **credentials: Any,
    ) -> User | None:
        """Return the account if name, password and, if it has a second factor, the one-time code are right.

        A wrong code fails like a wrong password, so that the answer does not reveal which of them was wrong.
        """
        user = super().authenticate(request, username=username, password=password, **credentials)
        if user is None or not second_factor.is_set_up(user):
            return user
        device = second_factor.verify(user, otp_token)
        if device is None:
            return None
        # django-otp stores it in the session at login.
        user.otp_device = device  # type: ignore[attr-defined]
        return user

    def get_user(self, user_id: Any) -> User | None:
        """Return the account with its permissions by one prepared statement, or None if it is missing or inactive.

        Every poll of every open page does this. Django's own three statements cost 2.3 times the CPU time for a poll
        without changes (3.5 instead of 1.5 ms), and one statement by the ORM costs twice as much.
        """
        columns = _list_columns()
        found = find_account(user_id, columns)
        if found is None:
            return None
        *values, permissions = found
        user = User.from_db(DEFAULT_DB_ALIAS, columns, values)
        if not user.is_superuser:
            # ModelBackend caches permissions here after looking them up by two queries.
            user._perm_cache = set(permissions)  # type: ignore[attr-defined]
        return user if self.user_can_authenticate(user) else None


class LockOutBackend(AxesStandaloneBackend):
    """Refuses an account or an address after too many failures. Does nothing without a request."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        if request is not None:
            super().authenticate(request, **credentials)


class SignInForm(AdminAuthenticationForm):
    """A form for name, password and, for those who set one up, the one-time code."""

    otp_token = CharField(
        label=_("One-time code"),
        help_text=_("Only if you have set up a second factor: the code of your app, or a backup code."),
        required=False,
        max_length=32,
        widget=TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "text", "spellcheck": "false"}),
    )
    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": _(
            "Name, password or one-time code is wrong, or the account may not open this site. "
            "Capital and small letters differ."
        ),
    }

    def clean(self) -> dict[str, Any]:
        username, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if username is not None and password:
            token = self.cleaned_data.get("otp_token", "")
            found = authenticate(self.request, username=username, password=password, otp_token=token)
            if found is None:
                raise self.get_invalid_login_error()
            self.user_cache = found
            self.confirm_login_allowed(found)
        return self.cleaned_data


@cache
def _list_columns() -> list[str]:
    """List the names of an account's columns."""
    return [str(field.column) for field in User._meta.concrete_fields]
