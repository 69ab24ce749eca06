"""Calls the routes of the API with the arguments of a tool."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest

from memory.api.mcp.route_call import Route, RouteArguments, call_route
from memory.errors import InvalidInput
from memory.services.tenancy.namespaces import default_namespace
from memory.types import Access

# These are not part of a body or query: the memory is in the path, others are headers, and the tool uses the offset.
_ASIDE = frozenset({"memory_id", "id", "offset", "idempotency_key", "revision"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Holds the caller of a tool and its arguments, none of which is null.

    The methods raise what `call_route` raises, and InvalidInput for arguments from which no request can be made.
    """

    request: HttpRequest
    access: Access
    arguments: dict[str, Any]

    def ask(self, route: Route, *, named_by: str = "memory_id", **instead: Any) -> Any:
        """Calls a route with the arguments in its path, query or body, and returns its answer.

        `instead` replaces some arguments. `named_by`: the argument that has the id of the memory.
        """
        given = {name: value for name, value in self.arguments.items() if name not in _ASIDE} | instead
        parts: dict[str, Any] = {}
        if "{memory_id}" in route.path:
            parts["memory_id"] = self._identity(named_by)
        else:
            given = self._add_namespace(given)
        asked = RouteArguments(parts=parts, headers=self._conditions())
        has_body = route.method in ("POST", "PATCH")
        asked = replace(asked, body=given) if has_body else replace(asked, query=_as_query(given))
        return call_route(self.request, self.access, route, asked)

    def at_most(self, name: str, most: int, usual: int) -> Any:
        """Returns a numeric argument (default: `usual`), limited to `most`; the route refuses other values."""
        given = self.arguments.get(name, usual)
        return min(given, most) if isinstance(given, int) else given

    def offset(self) -> int:
        """Returns the offset of the requested part of a text."""
        value = self.arguments.get("offset", 0)
        if not isinstance(value, int) or value < 0:
            raise _wrong("offset", "must be a whole number, 0 or more.")
        return value

    def _identity(self, name: str) -> uuid.UUID:
        value = self.arguments.get(name)
        try:
            return uuid.UUID(value if isinstance(value, str) else "")
        except ValueError:
            raise _wrong(name, "must be a UUID: the id of a memory." if value is not None else "is missing.") from None

    def _add_namespace(self, given: dict[str, Any]) -> dict[str, Any]:
        if "namespace" in given or given.get("cubes"):
            return given
        name = default_namespace(self.access)
        if name is None:
            raise _wrong("namespace", "is missing, and the key reaches several namespaces without a default.")
        return {"namespace": name, **given}

    def _conditions(self) -> dict[str, str]:
        headers = {}
        key, revision = self.arguments.get("idempotency_key"), self.arguments.get("revision")
        if key is not None:
            headers["Idempotency-Key"] = key if isinstance(key, str) else json.dumps(key)
        if revision is not None:
            if not isinstance(revision, int) or isinstance(revision, bool):
                raise _wrong("revision", "must be a whole number.")
            headers["If-Match"] = f'"{revision}"'
        return headers


def _as_query(arguments: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in arguments.items()}


def _wrong(name: str, problem: str) -> InvalidInput:
    return InvalidInput(f"{name}: {problem}", detail=[{"field": name, "problem": problem}])
