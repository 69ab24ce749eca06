"""Adds up the use and cost of calls of models, by day, key, namespace, purpose or model."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import orjson

from memory.enums import UsageGroup
from memory.errors import InvalidInput, NotFound
from memory.models import Namespace
from memory.models.queries import usage as queries
from memory.text.spreadsheet import lines_of
from memory.types import Access

# The most rows of one file.
MAX_FILED = 100_000

_FIGURES = (
    *("calls", "failed", "unpriced", "prompt_tokens", "cached_tokens", "cached_share", "completion_tokens"),
    "cost_usd",
)


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """The calls with the same `groups`, and their use; `cost` in US dollars excludes the `unpriced` ones.

    A group's value is "" for calls without a key (the worker, staff) or without a single namespace.
    """

    groups: Mapping[str, str]
    calls: int
    failed: int
    unpriced: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: Decimal

    @property
    def cached_share(self) -> float:
        """Return the share of the prompt tokens, 0 to 1, that the providers had cached."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """The filters: UTC days from `since` to `until`, both included. Without groups everything is one total."""

    since: date
    until: date
    groups: Sequence[UsageGroup] = ()
    namespace: str | None = None
    limit: int = MAX_FILED
    cursor: str = ""


def list_totals(access: Access, wanted: UsageFilter) -> tuple[list[UsageTotal], str | None]:
    """Return a page of totals of what the caller reaches, in the order of their groups, and the cursor of the next
    page.

    Raises NotFound for a namespace out of reach, and InvalidInput for an invalid cursor.
    """
    namespaces = _namespaces(access, wanted.namespace)
    rows = queries.list_totals(
        wanted.groups,
        namespaces,
        since=wanted.since,
        until=wanted.until,
        after=_read_cursor(wanted.cursor, max(1, len(wanted.groups))) if wanted.cursor else None,
        limit=wanted.limit + 1,
    )
    found = [_total(wanted.groups, row) for row in rows[: wanted.limit]]
    return found, _cursor_after(rows[wanted.limit - 1][0]) if len(rows) > wanted.limit else None


def figures_of(total: UsageTotal) -> dict[str, int | float]:
    """Return the figures of the total by name, for clients and files."""
    return {
        "calls": total.calls,
        "failed": total.failed,
        "unpriced": total.unpriced,
        "prompt_tokens": total.prompt_tokens,
        "cached_tokens": total.cached_tokens,
        "cached_share": round(total.cached_share, 4),
        "completion_tokens": total.completion_tokens,
        "cost_usd": float(total.cost),
    }


def as_csv(groups: Sequence[UsageGroup], found: Sequence[UsageTotal]) -> Iterator[str]:
    """Yield lines of CSV, with a heading."""
    figures = [figures_of(total) for total in found]
    # Avoid 1e-07, which a spreadsheet may read as a text.
    rows = [
        [*total.groups.values(), *{**own, "cost_usd": f"{total.cost:f}"}.values()]
        for total, own in zip(found, figures, strict=True)
    ]
    return lines_of([*groups, *_FIGURES], rows)


def _namespaces(access: Access, name: str | None) -> list[int] | None:
    """Return the ids of the namespaces to read; None for all, including calls without a namespace."""
    if name is None:
        return None if access.all_namespaces else sorted(access.namespace_ids)
    identity = Namespace.objects.filter(name=name).values_list("pk", flat=True).first()
    if identity is None or not (access.all_namespaces or identity in access.namespace_ids):
        raise NotFound(f"There is no namespace {name!r} that this key reaches.", detail={"field": "namespace"})
    return [identity]


def _total(groups: Sequence[UsageGroup], row: Sequence[Any]) -> UsageTotal:
    of, calls, failed, unpriced, prompt, cached, completion, cost = row
    named = {group.value: value for group, value in zip(groups, of, strict=False)}
    return UsageTotal(
        named, int(calls), int(failed), int(unpriced), int(prompt), int(cached), int(completion), Decimal(cost)
    )


def _cursor_after(values: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(list(values))).decode()


def _read_cursor(cursor: str, count: int) -> list[str]:
    try:
        values = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, ValueError):
        values = None
    right = isinstance(values, list) and len(values) == count and all(isinstance(value, str) for value in values)
    if not right or any("\0" in value for value in values):
        raise InvalidInput(
            "cursor: is none of these groups: send the `next_cursor` of the page before, with the same `group`.",
            detail=[{"field": "cursor", "problem": "is none of these groups."}],
        )
    return list(values)
