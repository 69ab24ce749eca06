from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from memory.api.authentication import KeyAuthentication
from memory.types import Access


class Mem0KeyAuthentication(KeyAuthentication):
    """Authenticates by the header that a mem0 client sends: `Authorization: Token` or `Bearer`, or `X-API-Key`."""

    def authenticate(self, request: Request) -> tuple[Access, str] | None:
        header = request.headers.get("Authorization", "")
        token = request.headers.get("X-API-Key", "")
        scheme, _, rest = header.partition(" ")
        if scheme.lower() == "token":
            token = rest.strip()
        elif header or not token:
            return super().authenticate(request)
        if not token:
            raise AuthenticationFailed("Send the key as `Authorization: Token mos_…`.")
        access = self.access_of(token)
        request._request.key_label = access.actor  # type: ignore[attr-defined]
        return self._let_in(access)


class TokenKey(OpenApiAuthenticationExtension):
    target_class = "memory.api.mem0.authentication.Mem0KeyAuthentication"
    name = "mem0Key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        says = "An API key: `Authorization: Token mos_…`; also as Bearer, or in `X-API-Key`"
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": says}
