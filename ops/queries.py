"""SQL of each console request: the signed-in account, and the namespaces that it reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory.models.sql import fetch

# Permissions are those of the account and its groups. Superusers may do everything, so theirs are not listed.
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
_GRANTED = "SELECT namespace_id FROM ops_staffgrant WHERE user_id = %(user)s"


def find_account(user_id: int, columns: Sequence[str]) -> tuple[Any, ...] | None:
    """Find an account; return these columns and the names of its permissions."""
    statement = _ACCOUNT.format(columns=", ".join(f'u."{name}"' for name in columns))
    rows = fetch(statement, {"id": user_id}, prepared=True, of_tenants=False)
    return rows[0] if rows else None


def list_granted(user_id: int) -> list[int]:
    """List the namespaces that are granted to a member of staff."""
    rows = fetch(_GRANTED, {"user": user_id}, prepared=True, of_tenants=False)
    return [namespace_id for (namespace_id,) in rows]
