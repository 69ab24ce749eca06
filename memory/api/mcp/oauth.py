"""MemOS as a resource server of OAuth 2.1, which names the issuer of its tokens (RFC 9728)."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory.enums import AccessScope

# Scopes in tokens have this prefix, as `memos:read`.
SCOPE_MARK = "memos:"
METADATA_PATH = "/.well-known/oauth-protected-resource"


def metadata_address() -> str:
    """Returns the URL of `ProtectedResourceView`: the well-known path, followed by the path of the resource."""
    place = urlsplit(settings.MEMOS_OAUTH_AUDIENCE)
    return f"{place.scheme}://{place.netloc}{METADATA_PATH}{place.path.rstrip('/')}"


class ProtectedResourceView(APIView):
    """Names the issuer of tokens for `/mcp` (RFC 9728). It answers 404 if no issuer is configured."""

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
