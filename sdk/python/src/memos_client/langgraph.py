"""LangGraph: a store whose items are documents of MemOS. Use it with `memory_tools` of memos_client.langchain."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
MOST_LISTED = 100
MOST_ID_CHARS = 128
PAGE = 200
# Limit of the metadata of chunks (8 KB), with room for what the server adds.
MOST_METADATA_BYTES = 8_000


class MemOSStore(BaseStore):
    """A BaseStore whose items are documents.

    An item's value is in the document's metadata, or in its data if it is long (up to 512 KB as JSON). Searches use the
    document's text. Stores with different names do not see each other's items.

    LangGraph's namespaces only organise the items of a store and do not isolate them. People who must not see each
    other's items need separate namespaces of MemOS, each with its own key and store.
    """

    def __init__(self, memos: MemOS, name: str = "store") -> None:
        self.memos = memos
        self.name = name

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute the operations in order.

        Raises NotKept for a value that the gate refuses, ValueError for one that JSON would change, and
        NotImplementedError for features that MemOS does not have: a time to live, and lists in a filter. Warns with
        ChangedByGate if the gate masked secrets in a value.
        """
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        validate_op_namespace(op)
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, SearchOp):
            op = op._replace(namespace_prefix=tuple(op.namespace_prefix))
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
        return _item_of(found["document"])

    def _put(self, op: PutOp, value: Mapping[str, Any]) -> None:
        if op.ttl is not None:
            raise NotImplementedError("MemOS keeps items until they are deleted: leave `ttl` out.")
        _check_json(op.key, value)
        if op.index:
            texts = [text for path in op.index for text in get_text_at_path(value, path)]
        else:
            texts = [f"{name}: {_as_text(part)}" for name, part in value.items()]
        levels = [".".join(op.namespace[:depth]) for depth in range(1, len(op.namespace) + 1)]
        own = {"store": self.name, "within": levels, "key": op.key, "searched": op.index is not False}
        is_long = len(json.dumps({**own, "value": value}, ensure_ascii=False).encode()) > MOST_METADATA_BYTES
        done = self.memos.documents.put(
            "\n".join(texts).strip() or op.key,
            document_id=self._id_of(op.namespace, op.key),
            session_id=self._session,
            metadata={KEY: {**own, "long": True} if is_long else {**own, "value": value}},
            data=dict(value) if is_long else {},
        )
        check_kept(f"The value of {op.key!r}", done)

    def _delete(self, op: PutOp) -> None:
        with suppress(NotFound):
            self.memos.documents.delete(self._id_of(op.namespace, op.key))

    def _search(self, op: SearchOp, conditions: list[dict[str, Any]]) -> list[SearchItem]:
        own = {"kind": "document", f"metadata.{KEY}.store": self.name, f"metadata.{KEY}.searched": True}
        if op.namespace_prefix:
            own[f"metadata.{KEY}.within"] = {"contains": ".".join(op.namespace_prefix)}
        # Long values are not in the chunks' metadata, so they are compared after they were read.
        short = [{"or": [{f"metadata.{KEY}.long": True}, {"and": conditions}]}] if conditions else []
        seen: list[str] = []
        items: list[SearchItem] = []
        while True:
            others = [{"not": {"metadata.document.document_id": {"in": some}}} for some in _lists(seen)]
            found = self.memos.recall(str(op.query), top_k=MOST_HITS, filter={"and": [own, *short, *others]})["hits"]
            new: dict[str, tuple[tuple[Namespace, str], float]] = {}
            for hit in found:
                metadata: Mapping[str, Any] = hit["metadata"]
                new.setdefault(metadata["document"]["document_id"], (_place_of(metadata), hit["relevance"]))
            for place, relevance in new.values():
                item = self._get(*place)
                if item and holds(item.value, op.filter or {}):
                    items.append(SearchItem(**item.dict(), score=relevance))
                if len(items) == op.offset + op.limit:
                    return items[op.offset :]
            if len(found) < MOST_HITS:
                return items[op.offset :]
            seen += new

    def _list(self, op: SearchOp) -> list[SearchItem]:
        depth = len(op.namespace_prefix)
        there = (one for one in self._documents() if _place_of(one["metadata"])[0][:depth] == op.namespace_prefix)
        page = (op.offset, op.offset + op.limit)
        asked = there if op.filter else islice(there, *page)
        items = (self._get(*_place_of(one["metadata"])) if _is_long(one) else _item_of(one) for one in asked)
        fits = (item for item in items if item and holds(item.value, op.filter or {}))
        chosen = islice(fits, *page) if op.filter else fits
        return [SearchItem(**item.dict()) for item in chosen]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        there = {_place_of(one["metadata"])[0] for one in self._documents()}
        fits = (one for one in there if all(_matches(condition, one) for condition in op.match_conditions or ()))
        return sorted({one[: op.max_depth] for one in fits})[op.offset : op.offset + op.limit]

    def _documents(self) -> Iterator[Any]:
        """Yield all documents of this store, newest first."""
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


def _lists(names: Sequence[str]) -> list[Sequence[str]]:
    """Split the names into lists of the length that a filter accepts."""
    return [names[start : start + MOST_LISTED] for start in range(0, len(names), MOST_LISTED)]


def _is_long(document: Mapping[str, Any]) -> bool:
    return bool(document["metadata"][KEY].get("long"))


def _item_of(document: Mapping[str, Any]) -> Item:
    namespace, key = _place_of(document["metadata"])
    value = document["data"] if _is_long(document) else document["metadata"][KEY]["value"]
    return Item(
        namespace=namespace,
        key=key,
        value=value,
        created_at=document["created_at"],
        updated_at=document["updated_at"],
    )


def _check_json(key: str, value: Mapping[str, Any]) -> None:
    """Raise ValueError for a value that JSON would change, and TypeError for one that it cannot express."""
    if json.loads(json.dumps(value)) != value:
        raise ValueError(
            f"The value of {key!r} is not what JSON keeps: use dicts with text as keys, lists and numbers."
        )


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
