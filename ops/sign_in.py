"""Django's sessions and accounts, read by prepared statements: every poll of every open page reads one of each.

Put together by the ORM and planned anew they were most of what a poll without news cost.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone

from memory.models.sql import fetch

_SESSION = """
SELECT session_data, expire_date FROM django_session WHERE session_key = %(key)s AND expire_date > %(now)s
"""
# With what an account may do, its own and its groups' permissions: of a superuser, who may do all, none.
_ACCOUNT = """
SELECT {columns}, ARRAY(
    SELECT t.app_label || '.' || p.codename
    FROM auth_permission p JOIN django_content_type t ON t.id = p.content_type_id
    WHERE NOT u.is_superuser AND p.id IN (
        SELECT permission_id FROM auth_user_user_permissions WHERE user_id = u.id
        UNION ALL
        SELECT g.permission_id FROM auth_user_groups m JOIN auth_group_permissions g ON g.group_id = m.group_id
        WHERE m.user_id = u.id
    )
)
FROM auth_user u WHERE u.id = %(id)s
"""


class SessionStore(db.SessionStore):
    """Sessions in the database, as Django keeps them."""

    def _validate_session_key(self, key: str) -> bool:
        # As Django makes them; others, such as with a NUL, the database would refuse.
        return bool(key) and len(key) >= 8 and key.isascii() and key.isalnum()

    def _get_session_from_db(self) -> Session | None:
        rows = fetch(_SESSION, {"key": self.session_key, "now": timezone.now()}, prepared=True)
        if not rows:
            self._session_key = None
            return None
        [(data, expires)] = rows
        return Session(session_key=str(self.session_key), session_data=data, expire_date=expires)


class AccountBackend(ModelBackend):
    """Names, passwords and permissions, as Django keeps them."""

    def get_user(self, user_id: Any) -> User | None:
        statement, columns = _account()
        rows = fetch(statement, {"id": user_id}, prepared=True)
        if not rows:
            return None
        [(*values, permissions)] = rows
        user = User.from_db(DEFAULT_DB_ALIAS, columns, values)
        if not user.is_superuser:
            # Where ModelBackend keeps them, once it has looked them up by two queries.
            user._perm_cache = set(permissions)  # type: ignore[attr-defined]
        return user if self.user_can_authenticate(user) else None


@cache
def _account() -> tuple[str, list[str]]:
    """The statement, and the names of the columns of an account."""
    columns = [str(field.column) for field in User._meta.concrete_fields]
    return _ACCOUNT.format(columns=", ".join(f'u."{name}"' for name in columns)), columns
