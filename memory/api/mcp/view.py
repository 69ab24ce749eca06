"""The route `/mcp`, which answers a POST of one JSON-RPC message with one JSON answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import MethodNotAllowed, UnsupportedMediaType, ValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from memory import deadline
from memory.api.mcp import protocol
from memory.api.mcp.authentication import McpAuthentication
from memory.api.mcp.protocol import RpcError, RpcMessage
from memory.api.mcp.server import McpCaller, answer_message, describe_failure
from memory.api.views.base import MemosViewSet
from memory.api.views.completions import NAMESPACE, NAMESPACE_HEADER, read_name
from memory.errors import Forbidden, MemosError
from memory.services.tenancy.namespaces import NO_NAMES
from memory.text.json_values import encode
from memory.types import Access

MAX_BODY_BYTES = 4 * 1024 * 1024


class MessageTooLarge(MemosError):
    """Raised if the body is larger than a message may be."""

    status = 413
    code = "payload_too_large"


class HasKey(BasePermission):
    """Allows any key, because each tool checks the scope that it needs."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.method not in view.allowed_methods:
            raise MethodNotAllowed(request.method or "")
        return isinstance(request.user, Access)


class McpViewSet(MemosViewSet):
    """Speaks the Model Context Protocol, in the revisions of `protocol.STATELESS` and `protocol.WITH_HANDSHAKE`.

    It has no sessions: a handshake is answered, but leaves no state.
    """

    authentication_classes = (McpAuthentication,)
    permission_classes = (HasKey,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuses pages of other origins first. Raises Forbidden."""
        _check_origin(request._request)
        super().initial(request, *args, **kwargs)

    @extend_schema(exclude=True)
    def create(self, request: Request) -> HttpResponse:
        http = request._request
        body = _read_body(http)
        stateless = False
        try:
            data = protocol.parse_body(body)
            stateless = protocol.is_stateless(http.headers, data)
            protocol.check_repeated_headers(http.headers)
            if isinstance(data, list):
                return self._answer_batch(data, stateless=stateless)
            message = protocol.read_message(data)
            if stateless and not message.wants_answer:
                protocol.check_version(http.headers)
        except RpcError as error:
            return _respond(error.body(None), error.status(stateless=stateless))
        if not message.wants_answer:
            return self._accept(message, stateless=stateless)
        answer, status = self._answer(message, stateless=stateless)
        return _respond(answer, status)

    def _accept(self, message: RpcMessage, *, stateless: bool) -> HttpResponse:
        """Accepts a notification, which needs no action.

        Revisions without handshake have no requests from server to client, so answers to such requests are refused.
        """
        if stateless and message.method is None:
            error = RpcError(protocol.INVALID_REQUEST, "An answer was sent; nothing has been asked.")
            return _respond(error.body(None), 400)
        return HttpResponse(status=202)

    def _answer(self, message: RpcMessage, *, stateless: bool) -> tuple[dict[str, Any], int]:
        http = self.request._request
        try:
            if stateless:
                protocol.check_envelope(message, http.headers)
            result = answer_message(McpCaller(http, self._access_of_header(), stateless), message)
        except RpcError as error:
            return error.body(message.id), error.status(stateless=stateless)
        except Exception as error:
            body = describe_failure(http, error)
            failure = RpcError(protocol.INTERNAL_ERROR, body["error"]["message"], body)
            return failure.body(message.id), failure.status(stateless=stateless)
        return {"jsonrpc": "2.0", "id": message.id, "result": result}, 200

    def _access_of_header(self) -> Access:
        """Returns the caller's access, whose default namespace a header may name. Raises ValidationError."""
        name = read_name(self.request, NAMESPACE_HEADER, {}, NAMESPACE)
        if name is None:
            return self.access
        if name.strip().lower() in NO_NAMES:
            raise ValidationError({NAMESPACE_HEADER: "must name a namespace; leave it out for the key's own."})
        return replace(self.access, default_namespace=name)

    def _answer_batch(self, batch: list[Any], *, stateless: bool) -> HttpResponse:
        """Answers several messages at once, which two early revisions allow. Raises RpcError."""
        version = self.request.headers.get(protocol.VERSION_HEADER, protocol.UNNAMED)
        if stateless or version not in protocol.WITH_BATCHES:
            raise RpcError(protocol.INVALID_REQUEST, f"The revision {version} has no batches: send one message.")
        if not 1 <= len(batch) <= protocol.MOST_IN_BATCH:
            raise RpcError(protocol.INVALID_REQUEST, f"A batch has 1 to {protocol.MOST_IN_BATCH} messages.")
        answers = []
        for place, data in enumerate(batch):
            if place:
                # Each message counts as a request; the first was counted on arrival.
                self.check_throttles(self.request)
                deadline.check()
            try:
                message = protocol.read_message(data)
                if message.method == "initialize":
                    raise RpcError(protocol.INVALID_REQUEST, "`initialize` must not be part of a batch.")
            except RpcError as error:
                answers.append(error.body(None))
                continue
            if message.wants_answer:
                answers.append(self._answer(message, stateless=False)[0])
        return _respond(answers, 200) if answers else HttpResponse(status=202)


def _check_origin(request: HttpRequest) -> None:
    """Raises Forbidden for a page whose origin is neither this server nor allowed by a setting."""
    origin = request.headers.get("Origin")
    own = f"{request.scheme}://{request.get_host()}"
    if origin and origin not in {own, *settings.CORS_ALLOWED_ORIGINS, *settings.CSRF_TRUSTED_ORIGINS}:
        raise Forbidden(
            f"Pages of {origin[:200]!r} may not call this server: MEMOS_CORS_ORIGINS names the origins that may."
        )


def _read_body(request: HttpRequest) -> bytes:
    if request.content_type != "application/json":
        raise UnsupportedMediaType(request.content_type or "")
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        raise MessageTooLarge(f"A message has at most {MAX_BODY_BYTES} bytes. Send fewer or shorter texts at once.")
    return request.body


def _respond(body: Mapping[str, Any] | list[Any], status: int) -> HttpResponse:
    return HttpResponse(encode(body), status=status, content_type="application/json")
