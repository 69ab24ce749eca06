"""Stores responses for requests that continue from them, as long as the memories of their conversation stay the
same."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models.functions import MD5

from memory.enums import ErrorCode
from memory.errors import InvalidInput, RedisAway, WindowUnavailable
from memory.models import Memory
from memory.stores import responses
from memory.stores.responses import KEPT_SECONDS, StoredResponse, name_response
from memory.types import Scope

__all__ = [
    "ResponseUnknown", "StoredResponse", "delete_response", "find_latest", "find_response", "keep_response",
    "name_response",
]  # fmt: skip

log = logging.getLogger("memos.gateway")


class ResponseUnknown(InvalidInput):
    """No response of that name is stored; the status and the code are those of OpenAI's API."""

    code = ErrorCode.PREVIOUS_RESPONSE_NOT_FOUND.value

    def __init__(self, response_id: str, *, field: str) -> None:
        super().__init__(
            f"There is no response {response_id!r}: one is kept for {KEPT_SECONDS // 3600} hours, unless `store` is "
            "false, the talk is long, or something in it was corrected or deleted. Send the whole talk as `input`.",
            detail={"field": field},
        )


def find_response(scope: Scope, name: str) -> StoredResponse | None:
    """Return the response; None if it is not stored, or memories of its conversation have changed."""
    try:
        found = responses.read(scope.namespace_id, name)
    except RedisAway:
        return None
    return found if found and _say_now(scope, found.told) == found.told else None


def find_latest(scope: Scope, session: str) -> StoredResponse | None:
    """Return the session's latest response, as `find_response` does."""
    try:
        name = responses.find_latest(scope.namespace_id, session)
    except RedisAway:
        return None
    return find_response(scope, name) if name else None


def delete_response(scope: Scope, name: str) -> bool:
    """Delete the response, but no memories of it; return whether it existed.

    Raises WindowUnavailable.
    """
    if find_response(scope, name) is None:
        return False
    try:
        return responses.delete(scope.namespace_id, name)
    except RedisAway as error:
        raise WindowUnavailable("Redis, which keeps responses, does not answer.") from error


def keep_response(
    scope: Scope,
    name: str,
    *,
    session: str,
    body: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]],
    memory_ids: Collection[str],
    before: StoredResponse | None,
) -> bool:
    """Store the response with all items of its conversation, and digests of its memories; return whether that
    succeeded.

    `memory_ids`: the memories made of it. `before`: the response that it continues from.
    """
    ids = {*memory_ids, *(before.told if before else ())}
    try:
        return responses.keep(scope.namespace_id, name, StoredResponse(session, body, items, _say_now(scope, ids)))
    except RedisAway as error:
        log.warning("a response is not kept", extra={"reason": str(error)})
        return False


def _say_now(scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """Return digests of the memories' present texts, by id."""
    if not ids:
        return {}
    rows = Memory.objects.in_scope(scope).active().filter(pk__in=ids).annotate(digest=MD5("text"))
    return {str(pk): digest for pk, digest in rows.values_list("pk", "digest")}
