from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.request import Request

from memory.api.authentication import KeyAuthentication
from memory.types import Access


class AnthropicKeyAuthentication(KeyAuthentication):
    """Authenticates by an API key in `X-API-Key`, as Anthropic's clients send it, or in `Authorization`."""

    def authenticate(self, request: Request) -> tuple[Access, str] | None:
        token = request.headers.get("X-API-Key", "").strip()
        if "Authorization" in request.headers or not token:
            return super().authenticate(request)
        return self.let_in(request, token)


class AnthropicKey(OpenApiAuthenticationExtension):
    target_class = "memory.api.anthropic.authentication.AnthropicKeyAuthentication"
    name = "anthropicKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        says = "An API key of MemOS, as Anthropic's clients send it; also as `Authorization: Bearer mos_…`"
        return {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": says}
