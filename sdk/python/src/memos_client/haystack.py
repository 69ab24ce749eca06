"""Haystack: a retriever component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memos_client.adapters import missing, recall_hits
from memos_client.client import MemOS

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret, deserialize_secrets_inplace
except ImportError as error:
    raise missing("Haystack", "haystack") from error

_KEY = Secret.from_env_var("MEMOS_API_KEY")
# Fields that every memory has. They are in a document's meta, and top-level fields in MemOS's filters.
_FIELDS = {"role", "speaker", "session_id", "tier", "kind", "importance", "occurred_at", "created_at"}
_OPERATORS = {"==": "eq", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "in": "in"}
_OPPOSITES = {"!=": "eq", "not in": "in"}


@component
class MemOSRetriever:
    """A component that returns the memories that answer a question best, as documents.

    `score` (0 to 1) is the probability that one is relevant. `filters` are Haystack's; filters of a run replace those
    of the component.
    """

    def __init__(
        self,
        url: str | None = None,
        key: Secret = _KEY,
        namespace: str | None = None,
        top_k: int = 6,
        filters: dict[str, Any] | None = None,
    ) -> None:
        self.url, self.key, self.namespace, self.top_k, self.filters = url, key, namespace, top_k, filters
        self._memos: MemOS | None = None

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Search for documents. Raises ValueError for a filter that MemOS does not support."""
        if self._memos is None:
            self._memos = MemOS(self.url, self.key.resolve_value(), namespace=self.namespace)
        wanted = filters or self.filters
        narrowed = to_filter(wanted) if wanted else {}
        found = recall_hits(self._memos, query, top_k=top_k or self.top_k, filter=narrowed)
        return {
            "documents": [
                Document(id=hit["id"], content=hit["text"], meta=hit["metadata"], score=hit["relevance"])
                for hit in found
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(
            self, url=self.url, key=self.key.to_dict(), namespace=self.namespace, top_k=self.top_k, filters=self.filters
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MemOSRetriever:
        deserialize_secrets_inplace(data["init_parameters"], keys=["key"])
        return default_from_dict(cls, data)


def to_filter(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a filter of Haystack into one of MemOS. Raises ValueError."""
    word = str(wanted.get("operator", ""))
    if "conditions" in wanted:
        parts = [to_filter(part) for part in wanted["conditions"]]
        if word == "NOT":
            return {"not": {"and": parts}}
        if word in ("AND", "OR"):
            return {word.lower(): parts}
    elif word in _OPERATORS:
        return {_field_of(wanted): {_OPERATORS[word]: wanted["value"]}}
    elif word in _OPPOSITES:
        return {"not": {_field_of(wanted): {_OPPOSITES[word]: wanted["value"]}}}
    raise ValueError(f"MemOS has no filter for {wanted!r}: AND, OR, NOT, {', '.join([*_OPERATORS, *_OPPOSITES])}.")


def _field_of(condition: Mapping[str, Any]) -> str:
    name = str(condition.get("field", "")).removeprefix("meta.")
    return name if name in _FIELDS else f"metadata.{name}"
