"""Identifies the caller by an API key in `Authorization: Bearer`, or as anonymous."""

from __future__ import annotations

import hmac
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from memory import caller
from memory.models import ApiKey
from memory.models.access import TOKEN_MARK, token_digest
from memory.models.queries.tenancy import find_key
from memory.postgresql import reach
from memory.services.cubes.share import list_granted
from memory.types import Access, system_access

ANONYMOUS = "anonymous"
LAST_USED_EVERY = timedelta(minutes=1)
MAX_PREFIX = 12


class KeyAuthentication(BaseAuthentication):
    """Builds the caller's Access from the API key. A request without a key is anonymous, if the server allows that."""

    def authenticate(self, request: Request) -> tuple[Access, str] | None:
        header = request.headers.get("Authorization", "")
        if not header:
            return self._let_in(system_access(ANONYMOUS)) if settings.MEMOS_ANONYMOUS else None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise AuthenticationFailed("Send the key as `Authorization: Bearer mos_…`.")
        return self.let_in(request, token.strip())

    def let_in(self, request: Request, token: str) -> tuple[Access, str]:
        """Authenticate the bearer of the token. Raises AuthenticationFailed."""
        access = self.access_of(token)
        request._request.key_label = access.actor  # type: ignore[attr-defined]
        return self._let_in(access)

    def access_of(self, token: str) -> Access:
        """Return the access of the token's bearer. Raises AuthenticationFailed."""
        return access_of(token)

    @staticmethod
    def _let_in(access: Access) -> tuple[Access, str]:
        reach.allow(access)
        caller.current().key_id = access.key_id
        return access, access.actor

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="memos"'


def access_of(token: str) -> Access:
    """Return a key's access. Raises AuthenticationFailed, with one message for an unknown key and a wrong secret."""
    mark, _, rest = token.partition("_")
    prefix, _, secret = rest.partition("_")
    is_ours = mark == TOKEN_MARK and len(prefix) <= MAX_PREFIX
    row = find_key(prefix) if is_ours else None
    if row is None or not hmac.compare_digest(row[1], token_digest(secret)):
        raise AuthenticationFailed("This API key is not known here: `manage.py issue_api_key` makes one.")
    key_id, _, scopes, all_namespaces, limit, expires_at, revoked_at, last_used_at, owner_id, default, reached = row
    now = timezone.now()
    if revoked_at is not None:
        raise AuthenticationFailed("This API key was revoked.")
    if expires_at is not None and expires_at <= now:
        raise AuthenticationFailed(f"This API key expired at {expires_at.isoformat()}.")
    if last_used_at is None or last_used_at < now - LAST_USED_EVERY:
        ApiKey.objects.filter(pk=key_id).update(last_used_at=now)
    return Access(
        actor=f"key:{prefix}",
        key_id=key_id,
        scopes=frozenset(scopes),
        all_namespaces=all_namespaces,
        namespace_ids=frozenset(reached),
        requests_per_minute=settings.MEMOS_RATE_LIMIT_PER_MINUTE if limit is None else limit,
        user_id=owner_id,
        # Shares are read for each request, so that one that was revoked or has expired ends at once.
        shares=() if owner_id is None or all_namespaces else list_granted(owner_id, beyond=reached, now=now),
        default_namespace=default,
    )
