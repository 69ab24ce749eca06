"""Verifies the tokens of an OAuth issuer, and reads what their bearers may reach (RFC 9068).

It is imported when the first token arrives, because the library that verifies signatures takes 9 MB.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import jwt
from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed

from memory.api.mcp.issuer_keys import find_key
from memory.api.mcp.oauth import SCOPE_MARK
from memory.enums import AccessScope
from memory.services.tenancy.namespaces import list_ids
from memory.types import Access

LEEWAY_SECONDS = 30
MAX_TOKEN_CHARS = 8_192
MOST_NAMESPACES = 100
_REQUIRED = ["exp", "iss", "aud", "sub"]
_PLAIN = re.compile(r"[A-Za-z0-9._@|:+-]{1,100}")


def access_of_jwt(token: str) -> Access:
    """Returns the access of a token's bearer. Raises AuthenticationFailed and IssuerUnavailable."""
    claims = _read_claims(token)
    names = _as_words(claims.get(settings.MEMOS_OAUTH_NAMESPACES_CLAIM))[:MOST_NAMESPACES]
    return Access(
        actor=_actor(str(claims["sub"])),
        scopes=_scopes(claims),
        namespace_ids=list_ids(names) if names else frozenset(),
        requests_per_minute=settings.MEMOS_RATE_LIMIT_PER_MINUTE,
    )


def _read_claims(token: str) -> Mapping[str, Any]:
    if len(token) > MAX_TOKEN_CHARS:
        raise AuthenticationFailed(f"The token has more than {MAX_TOKEN_CHARS} characters.")
    try:
        header = jwt.get_unverified_header(token)
        # The algorithm is checked first, so that a token with another one causes no request for a key.
        if header.get("alg") not in settings.MEMOS_OAUTH_ALGORITHMS:
            raise jwt.InvalidAlgorithmError(f"its algorithm must be {' or '.join(settings.MEMOS_OAUTH_ALGORITHMS)}")
        claims: dict[str, Any] = jwt.decode(
            token,
            find_key(header.get("kid")),
            algorithms=settings.MEMOS_OAUTH_ALGORITHMS,
            audience=settings.MEMOS_OAUTH_AUDIENCE,
            issuer=settings.MEMOS_OAUTH_ISSUER,
            leeway=LEEWAY_SECONDS,
            options={"require": _REQUIRED},
        )
    except jwt.PyJWTError as error:
        raise AuthenticationFailed(
            f"The token is not valid here ({error}). Send a token of {settings.MEMOS_OAUTH_ISSUER} for "
            f"{settings.MEMOS_OAUTH_AUDIENCE}, or an API key (mos_…)."
        ) from error
    return claims


def _actor(subject: str) -> str:
    """Returns the name of the subject in audit events, which is a hash if it is long or has unusual characters."""
    return f"oauth:{subject if _PLAIN.fullmatch(subject) else hashlib.sha256(subject.encode()).hexdigest()}"


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    given = {*_as_words(claims.get("scope")), *_as_words(claims.get("scp"))}
    return frozenset(scope for scope in AccessScope.values if f"{SCOPE_MARK}{scope}" in given)


def _as_words(value: Any) -> list[str]:
    """Returns the words of a claim, which is a list, or a string of words separated by white space."""
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [word for word in words if isinstance(word, str) and "\0" not in word]
