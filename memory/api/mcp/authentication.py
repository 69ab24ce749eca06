"""Authenticates callers of `/mcp` by API key, or by a token of the configured OAuth issuer."""

from __future__ import annotations

from django.conf import settings
from rest_framework.request import Request

from memory.api.authentication import TOKEN_MARK, KeyAuthentication
from memory.api.mcp.oauth import metadata_address
from memory.types import Access


class McpAuthentication(KeyAuthentication):
    """Authenticates by key or token, and tells refused callers where to get tokens (RFC 9728)."""

    def access_of(self, token: str) -> Access:
        if settings.MEMOS_OAUTH_ISSUER and not token.startswith(f"{TOKEN_MARK}_"):
            from memory.api.mcp.issuer_tokens import access_of_jwt  # noqa: PLC0415 - 9 MB, for those who use it

            return access_of_jwt(token)
        return super().access_of(token)

    def authenticate_header(self, request: Request) -> str:
        header = super().authenticate_header(request)
        if not settings.MEMOS_OAUTH_ISSUER:
            return header
        refused = ', error="invalid_token"' if request.headers.get("Authorization") else ""
        return f'{header}, resource_metadata="{metadata_address()}"{refused}'
