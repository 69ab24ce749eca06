"""Completes the OpenAPI document of every route: authentication, errors, tags, and the idempotency header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import is_list_serializer
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from memory.api.examples import PARAMETERS, list_examples
from memory.api.fields import takes_default_namespace
from memory.api.route_tags import TAG_OF
from memory.api.serializers.errors import ErrorSerializer

_REFUSALS = {
    400: "The request is wrong: `detail` says which field and why.",
    401: "No key, or one that is not valid.",
    403: "The key lacks the scope.",
    404: "No such thing within the key's reach.",
    408: "The body did not arrive in time.",
    409: "The request contradicts an earlier one, or how things stand.",
    411: "The body has no length, and the web server reads no chunks.",
    412: "It was changed since it was read: the ETag is another.",
    413: "The body is too large.",
    415: "The body is not JSON, or a file of a kind that this server does not read.",
    429: "More requests than the key's limit, or `budget_exceeded`.",
    431: "The headers are too large.",
    500: "The server failed: its log has the cause under the `request_id`.",
    503: "Something MemOS needs does not answer.",
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds after which to come again", "schema": {"type": "string"}}}


class OperationSchema(AutoSchema):
    """Describes one route of the document.

    A view may set `error_serializer` to the shape of its errors. A serializer with `open_fields` may have fields that
    it does not declare.
    """

    def get_tags(self) -> list[str]:
        """Return the tag of the route."""
        first = self._tokenize_path()[0]
        return [TAG_OF.get(first, first)]

    def get_examples(self) -> list[OpenApiExample]:
        """Return requests that find something in the demo namespace."""
        return list_examples(self.get_operation_id())

    def get_operation(self, *arguments: Any, **options: Any) -> dict[str, Any] | None:
        """Return the operation, with the errors that it does not describe itself."""
        operation: dict[str, Any] | None = super().get_operation(*arguments, **options)
        if operation is None:
            return None
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "query" and parameter["name"] == "namespace" and parameter.pop("required", False):
                parameter["description"] = _describe_namespace(parameter)
            if parameter["in"] == "query" and parameter["name"] in PARAMETERS:
                parameter["example"] = PARAMETERS[parameter["name"]]
        shape = self.resolve_serializer(getattr(self.view, "error_serializer", ErrorSerializer), "response").ref
        for status in sorted(_list_refusals(operation, self.method)):
            refusal = {"description": _REFUSALS[status], "content": {"application/json": {"schema": shape}}}
            headers = {"headers": _RETRY_AFTER} if status in (429, 503) else {}
            operation["responses"].setdefault(str(status), {**refusal, **headers})
        operation["responses"] = dict(sorted(operation["responses"].items()))
        return operation

    def _get_request_body(self, direction: Any = "request") -> dict[str, Any] | None:
        """Return the body, also for the actions in `bodies_of_delete`: drf-spectacular describes none for DELETE."""
        has_body = self.method == "DELETE" and getattr(self.view, "action", "") in getattr(
            self.view, "bodies_of_delete", ()
        )
        if not has_body:
            return super()._get_request_body(direction)
        self.method = "POST"
        try:
            return super()._get_request_body(direction)
        finally:
            self.method = "DELETE"

    def _is_list_view(self, serializer: Any = None) -> bool:
        """Return whether the serializer is a list. drf-spectacular would guess from the action's name."""
        return bool(is_list_serializer(serializer))

    def _get_serializer_field_meta(self, field: Any, direction: str) -> dict[str, Any]:
        """Leave out an empty default that the field would refuse: it means "left out", and clients cannot send it."""
        meta: dict[str, Any] = super()._get_serializer_field_meta(field, direction)
        if meta.get("default") == "" and not getattr(field, "allow_blank", True):
            del meta["default"]
        return meta

    def _map_serializer(self, serializer: Any, direction: str, bypass_extensions: bool = False) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_serializer(serializer, direction, bypass_extensions)
        if direction == "request" and takes_default_namespace(serializer):
            schema = _leave_namespace_out(schema)
        if getattr(serializer, "open_fields", False):
            return {**schema, "additionalProperties": {}}
        # Matches what `find_unknown` refuses.
        is_closed = direction == "request" and not getattr(self.view, "takes_unknown_fields", False)
        return {**schema, "additionalProperties": False} if is_closed and "properties" in schema else schema


def _leave_namespace_out(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a request whose `namespace` may be left out."""
    required = [name for name in schema.get("required", ()) if name != "namespace"]
    properties = dict(schema["properties"])
    properties["namespace"] = {**properties["namespace"], "description": _describe_namespace(properties["namespace"])}
    rest = {name: value for name, value in schema.items() if name != "required"}
    return {**rest, "properties": properties, **({"required": required} if required else {})}


def _describe_namespace(described: dict[str, Any]) -> str:
    told = described.get("description", "")
    return f"{told}{'; left' if told else 'Left'} out: the key's default namespace"


def share_refusals(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Move the errors that many routes share into `components`, as a postprocessing hook of drf-spectacular."""
    shared: dict[str, Any] = {}
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if not status.isdigit() or response.get("description") != _REFUSALS.get(int(status)):
                    continue
                shape = response["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                name = f"{shape}{status}"
                shared[name] = response
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    result.setdefault("components", {})["responses"] = dict(sorted(shared.items()))
    return result


def _list_refusals(operation: dict[str, Any], method: str) -> Iterator[int]:
    yield from (400, 431, 500)
    # A route that needs no key has an empty `security`.
    if any(operation.get("security", ())):
        yield from (401, 403, 429, 503)
        if operation.get("parameters") or "requestBody" in operation:
            yield 404
    if method != "GET":
        yield from (408, 409, 411, 413)
    if "requestBody" in operation:
        yield 415
    if any(one["name"] == "If-Match" for one in operation.get("parameters", ())):
        yield 412


class BearerKey(OpenApiAuthenticationExtension):
    target_class = "memory.api.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "An API key: `Authorization: Bearer mos_…`"}


IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[\x21-\x7e]+$"},
    OpenApiParameter.HEADER,
    description="Same key and same body: the same answer, stored once. Same key and another body: 409.",
)

IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string"},
    OpenApiParameter.HEADER,
    description="The ETag of what was read: the change is made only if it is still that, else 412.",
)


# An event of a stream, as clients parse it.
_SERVER_SENT_EVENT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["data"],
}


def event_stream_of(events: str) -> dict[tuple[int, str], OpenApiResponse]:
    """Return the responses of a route that sends server-sent events. `events` describes them."""
    return {(200, "text/event-stream"): OpenApiResponse(_SERVER_SENT_EVENT, description=events)}
