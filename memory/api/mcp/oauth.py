"""MemOS as a resource server of OAuth 2.1: what an issuer's token lets its bearer reach (RFC 9068, RFC 9728)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import jwt
from django.conf import settings
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory.api.mcp.issuer_keys import find_key
from memory.enums import AccessScope
from memory.services.tenancy.namespaces import list_ids
from memory.types import Access

# How scopes are named in tokens: `memos:read`.
SCOPE_MARK = "memos:"
LEEWAY_SECONDS = 30
MAX_TOKEN_CHARS = 8_192
MOST_NAMESPACES = 100
METADATA_PATH = "/.well-known/oauth-protected-resource"
_REQUIRED = ["exp", "iss", "aud", "sub"]
_PLAIN = re.compile(r"[A-Za-z0-9._@|:+-]{1,100}")


def access_of_jwt(token: str) -> Access:
    """What the bearer of an issuer's token may reach. Raises AuthenticationFailed, and IssuerUnavailable."""
    claims = _read_claims(token)
    names = _as_words(claims.get(settings.MEMOS_OAUTH_NAMESPACES_CLAIM))[:MOST_NAMESPACES]
    return Access(
        actor=_actor(str(claims["sub"])),
        scopes=_scopes(claims),
        namespace_ids=list_ids(names) if names else frozenset(),
        requests_per_minute=settings.MEMOS_RATE_LIMIT_PER_MINUTE,
    )


def metadata_address() -> str:
    """Where clients reach `ProtectedResourceView`: the path of the resource stands behind the well-known one."""
    place = urlsplit(settings.MEMOS_OAUTH_AUDIENCE)
    return f"{place.scheme}://{place.netloc}{METADATA_PATH}{place.path.rstrip('/')}"


class ProtectedResourceView(APIView):
    """Who issues tokens for `/mcp` (RFC 9728). Not there while no issuer is configured."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        if not settings.MEMOS_OAUTH_ISSUER:
            raise Http404("No issuer of OAuth tokens is configured here: use an API key.")
        return Response(
            {
                "resource": settings.MEMOS_OAUTH_AUDIENCE,
                "resource_name": "MemOS",
                "authorization_servers": [settings.MEMOS_OAUTH_ISSUER],
                "scopes_supported": [f"{SCOPE_MARK}{scope}" for scope in AccessScope.values],
                "bearer_methods_supported": ["header"],
            }
        )


def _read_claims(token: str) -> Mapping[str, Any]:
    if len(token) > MAX_TOKEN_CHARS:
        raise AuthenticationFailed(f"The token has more than {MAX_TOKEN_CHARS} characters.")
    try:
        header = jwt.get_unverified_header(token)
        # Looked up only for what may be verified: a token that names another algorithm asks for no key.
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
    """The subject as audit events name it; one that is long or of odd characters by its hash."""
    return f"oauth:{subject if _PLAIN.fullmatch(subject) else hashlib.sha256(subject.encode()).hexdigest()}"


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    given = {*_as_words(claims.get("scope")), *_as_words(claims.get("scp"))}
    return frozenset(scope for scope in AccessScope.values if f"{SCOPE_MARK}{scope}" in given)


def _as_words(value: Any) -> list[str]:
    """A claim that is a list of words, or a text of words between spaces."""
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [word for word in words if isinstance(word, str) and "\0" not in word]
