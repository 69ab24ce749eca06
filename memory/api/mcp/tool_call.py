"""One call of a tool: its arguments, and what the routes of the API say to them."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from memory.api.mcp.route_call import Route, RouteArguments, call_route
from memory.errors import InvalidInput
from memory.services.tenancy.namespaces import default_namespace
from memory.types import Access

# What stands in the path and the headers of a route, not in its body.
_ASIDE = frozenset({"memory_id", "idempotency_key", "revision"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Who calls a tool with which arguments, none of them null.

    Its methods raise what `call_route` raises, and InvalidInput for arguments that no route could be asked with.
    """

    request: HttpRequest
    access: Access
    arguments: dict[str, Any]

    def read(self, route: Route, **parts: Any) -> Any:
        """What a route says that reads by its path."""
        return self._ask(route, RouteArguments(parts=parts))

    def list_by(self, route: Route, **instead: Any) -> Any:
        """What a route says that reads by query parameters; `instead` takes the place of arguments."""
        return self._ask(route, RouteArguments(query=_as_query({**self._add_namespace(), **instead})))

    def ask(self, route: Route, **defaults: Any) -> Any:
        """What a route says that reads by a body; `defaults` stand for arguments that are left out."""
        return self._ask(route, RouteArguments(body={**defaults, **self._add_namespace()}))

    def ask_within(self, route: Route, max_tokens: int) -> Any:
        """What a route says whose text may have no more than `max_tokens`, however many are asked for."""
        usual = min(settings.MEMOS_PACK_MAX_TOKENS or max_tokens, max_tokens)
        given = self.arguments.get("max_tokens", usual)
        within = min(given, max_tokens) if isinstance(given, int) else given
        return self._ask(route, RouteArguments(body={**self._add_namespace(), "max_tokens": within}))

    def add(self, route: Route) -> Any:
        """What a route says that takes something into a namespace."""
        return self._ask(route, RouteArguments(body=_plain(self._add_namespace()), headers=self._conditions()))

    def change(self, route: Route, **defaults: Any) -> Any:
        """What a route says that changes the memory `memory_id` as a body says."""
        body = {**defaults, **_plain(self.arguments)}
        return self._ask(route, RouteArguments(body=body, parts=self._memory(), headers=self._conditions()))

    def archive(self, route: Route) -> Any:
        """What a route says that takes the memory `memory_id` away."""
        query = _as_query(_plain(self.arguments))
        return self._ask(route, RouteArguments(query=query, parts=self._memory(), headers=self._conditions()))

    def identity(self, name: str) -> uuid.UUID:
        """The memory that an argument names."""
        value = self.arguments.get(name)
        try:
            return uuid.UUID(value if isinstance(value, str) else "")
        except ValueError:
            raise _wrong(name, "must be a UUID: the id of a memory." if value is not None else "is missing.") from None

    def offset(self) -> int:
        """Where in a text the part begins that is asked for."""
        value = self.arguments.get("offset", 0)
        if not isinstance(value, int) or value < 0:
            raise _wrong("offset", "must be a whole number, 0 or more.")
        return value

    def _memory(self) -> dict[str, uuid.UUID]:
        return {"memory_id": self.identity("memory_id")}

    def _add_namespace(self) -> dict[str, Any]:
        if "namespace" in self.arguments or self.arguments.get("cubes"):
            return self.arguments
        name = default_namespace(self.access)
        if name is None:
            raise _wrong("namespace", "is missing, and the key reaches several namespaces without a default.")
        return {"namespace": name, **self.arguments}

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

    def _ask(self, route: Route, asked: RouteArguments) -> Any:
        return call_route(self.request, self.access, route, asked)


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in _ASIDE}


def _as_query(arguments: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in arguments.items()}


def _wrong(name: str, problem: str) -> InvalidInput:
    return InvalidInput(f"{name}: {problem}", detail=[{"field": name, "problem": problem}])
