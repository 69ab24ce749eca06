"""Assembles the conversation that a request continues, from its own items and those of the responses that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.api.openai_responses.request import Item
from memory.errors import InvalidInput
from memory.services.gateway.responses import ResponseUnknown, StoredResponse, find_latest, find_response
from memory.types import Scope

# The id of an item is its response's name followed by its index in two digits.
_PLACE_DIGITS = 2


@dataclass(frozen=True, slots=True)
class Talk:
    """All `items` of a conversation up to the answer, and the response `before` it, if the request names one."""

    items: Sequence[Item]
    before: StoredResponse | None = None


def name_in(response_id: str) -> str:
    """Return the name in a response's id."""
    return response_id.partition("_")[2]


def go_on(scope: Scope | None, response_id: str, items: Sequence[Item]) -> Talk:
    """Return the conversation that continues a response. Raises ResponseUnknown."""
    before = find_response(scope, name_in(response_id)) if scope else None
    if before is None:
        raise ResponseUnknown(response_id, field="previous_response_id")
    return Talk([*before.items, *resolve(scope, items)], before)


def go_on_in(scope: Scope | None, session: str, items: Sequence[Item]) -> Talk:
    """Return the conversation that continues the session's latest response, if there is one."""
    before = find_latest(scope, session) if scope else None
    return Talk([*(before.items if before else ()), *resolve(scope, items)], before)


def refers(items: Sequence[Item]) -> bool:
    """Return whether one of the items refers to an item of a response."""
    return any(_is_reference(item) for item in items)


def resolve(scope: Scope | None, items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items, with the items they name in place of references. Raises InvalidInput for an unknown one."""
    found: dict[str, Mapping[str, Any]] = {}
    for place, item in enumerate(items):
        if not _is_reference(item):
            yield item
            continue
        identity = str(item.get("id"))
        if identity not in found:
            response = find_response(scope, name_in(identity)[:-_PLACE_DIGITS]) if scope else None
            found |= {str(one["id"]): one for one in (response.items if response else ()) if "id" in one}
        if identity not in found:
            raise InvalidInput(
                f"There is no item {identity!r}: its response is not kept. Send the item itself, or set `store` to "
                "false in the client, so that it does.",
                detail={"field": f"input[{place}].id"},
            )
        yield found[identity]


def _is_reference(item: Item) -> bool:
    return item.get("type") == "item_reference" or ("type" not in item and "role" not in item)
