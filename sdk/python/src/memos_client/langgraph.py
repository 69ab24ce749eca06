"""LangGraph: a store whose items are documents of MemOS. `memory_tools` of memos_client.langchain go with it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import quote

from memos_client.adapters import check_kept, missing
from memos_client.client import MemOS
from memos_client.errors import NotFound
from memos_client.store_filters import holds, to_conditions

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise missing("LangGraph", "langgraph") from error

Namespace = tuple[str, ...]
KEY = "langgraph"
MOST_HITS = 50
MOST_ID_CHARS = 128
PAGE = 200


class MemOSStore(BaseStore):
    """A BaseStore. An item is a document: its value stands in the metadata (8 KB), its text is what is searched.
    Stores of other names do not see each other's items.

    LangGraph's namespaces order the items of a store and are no wall: people who must not see each other need
    namespaces of MemOS, and a key and a store for each.
    """

    def __init__(self, memos: MemOS, name: str = "store") -> None:
        self.memos = memos
        self.name = name

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does one after the other. Raises NotKept for a value that the gate keeps out, NotImplementedError for what
        MemOS does not have: a time to live, lists in a filter, more than 50 hits of a query."""
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        validate_op_namespace(op)
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, SearchOp):
            conditions = to_conditions(op.filter or {}, f"metadata.{KEY}.value")
            return self._search(op, conditions) if op.query else self._list(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        return self._delete(op) if op.value is None else self._put(op, op.value)

    def _get(self, namespace: Namespace, key: str) -> Item | None:
        try:
            found = self.memos.documents.get(self._id_of(namespace, key))
        except NotFound:
            return None
        return Item(**_fields_of(found["document"]))

    def _put(self, op: PutOp, value: Mapping[str, Any]) -> None:
        if op.ttl is not None:
            raise NotImplementedError("MemOS keeps items until they are deleted: leave `ttl` out.")
        if op.index:
            texts = [text for path in op.index for text in get_text_at_path(value, path)]
        else:
            texts = [f"{name}: {_as_text(part)}" for name, part in value.items()]
        levels = [".".join(op.namespace[:depth]) for depth in range(1, len(op.namespace) + 1)]
        own = {"store": self.name, "within": levels, "key": op.key, "searched": op.index is not False, "value": value}
        done = self.memos.documents.put(
            "\n".join(texts).strip() or op.key,
            document_id=self._id_of(op.namespace, op.key),
            session_id=self._session,
            metadata={KEY: own},
        )
        check_kept(f"The value of {op.key!r}", done)

    def _delete(self, op: PutOp) -> None:
        with suppress(NotFound):
            self.memos.documents.delete(self._id_of(op.namespace, op.key))

    def _search(self, op: SearchOp, conditions: list[dict[str, Any]]) -> list[SearchItem]:
        own = {"kind": "document", f"metadata.{KEY}.store": self.name, f"metadata.{KEY}.searched": True}
        if op.namespace_prefix:
            own[f"metadata.{KEY}.within"] = {"contains": ".".join(op.namespace_prefix)}
        found = self.memos.recall(str(op.query), top_k=MOST_HITS, filter={"and": [own, *conditions]})["hits"]
        best: dict[tuple[Namespace, str], float] = {}
        for hit in found:
            best.setdefault(_place_of(hit["metadata"]), hit["relevance"])
        if len(found) == MOST_HITS and op.offset + op.limit > len(best):
            raise NotImplementedError(f"A query reaches the best {len(best)} items: ask for fewer, or narrow it.")
        chosen = list(best.items())[op.offset : op.offset + op.limit]
        items = ((self._get(*place), relevance) for place, relevance in chosen)
        return [SearchItem(**item.dict(), score=relevance) for item, relevance in items if item]

    def _list(self, op: SearchOp) -> list[SearchItem]:
        depth = len(op.namespace_prefix)
        rows = (_fields_of(one) for one in self._documents())
        fits = (r for r in rows if r["namespace"][:depth] == op.namespace_prefix and holds(r["value"], op.filter or {}))
        return [SearchItem(**row) for row in islice(fits, op.offset, op.offset + op.limit)]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        there = {_place_of(one["metadata"])[0] for one in self._documents()}
        fits = (one for one in there if all(_matches(condition, one) for condition in op.match_conditions or ()))
        return sorted({one[: op.max_depth] for one in fits})[op.offset : op.offset + op.limit]

    def _documents(self) -> Iterator[Any]:
        """All of this store, the newest first."""
        cursor: str | None = None
        while True:
            try:
                page = self.memos.documents.list(session_id=self._session, cursor=cursor, limit=PAGE)
            except NotFound:  # A namespace comes into being with its first memory.
                return
            yield from (one for one in page["documents"] if KEY in one["metadata"])
            cursor = page["next_cursor"]
            if not cursor:
                return

    @property
    def _session(self) -> str:
        return f"{KEY}:{self.name}"

    def _id_of(self, namespace: Namespace, key: str) -> str:
        name = "/".join(quote(part, safe="") for part in (self._session, *namespace, key))
        return name if len(name) <= MOST_ID_CHARS else f"{KEY}:{hashlib.sha256(name.encode()).hexdigest()}"


def _as_text(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)


def _place_of(metadata: Mapping[str, Any]) -> tuple[Namespace, str]:
    own = metadata[KEY]
    return tuple(own["within"][-1].split(".")), own["key"]


def _fields_of(document: Mapping[str, Any]) -> dict[str, Any]:
    namespace, key = _place_of(document["metadata"])
    dates = {name: document[name] for name in ("created_at", "updated_at")}
    return {"namespace": namespace, "key": key, "value": document["metadata"][KEY]["value"], **dates}


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
