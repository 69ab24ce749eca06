"""CrewAI: its memory, stored and searched by MemOS, without an embedder and without a language model."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Self

from memos_client.adapters import MOST_TEXT_CHARS, check_kept, missing, recall_hits, warn_of_marks
from memos_client.client import MemOS
from memos_client.errors import NotFound, NotKept

try:
    from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
    from crewai.memory.unified_memory import Memory
    from crewai.memory.utils import join_scope_paths
except ImportError as error:
    raise missing("CrewAI", "crewai") from error

log = logging.getLogger(__name__)
KEY = "crewai"
MOST_HITS = 50
PAGE = 200


class MemOSMemory(Memory):
    """A memory for CrewAI: `Crew(…, memory=MemOSMemory(memos))`, or that of an `Agent`. A record is a memory of MemOS.

    Without a scope it recalls all memories of the namespace, from any source; with a scope, or a `root_scope`, the
    records stored there. `options` are further options of Memory. An `llm` extracts memories from an agent's output;
    without one the output is stored as it is. Forgotten records are archived and can be restored.
    """

    def __init__(self, memos: MemOS, **options: Any) -> None:
        super().__init__(storage=MemOSStorage(memos), **options)

    def remember(  # noqa: PLR0917 - as CrewAI has it
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Store a record. Raises NotKept if the gate refuses it."""
        if self.read_only:
            return None
        record = MemoryRecord(
            content=content,
            scope=join_scope_paths(self.root_scope if root_scope is None else root_scope, scope),
            categories=categories or [],
            metadata=metadata or {},
            importance=self.default_importance if importance is None else importance,
            source=source,
            private=private,
        )
        return self._storage.add(record, speaker=agent_role)

    def remember_many(self, contents: list[str], *given: Any, **named: Any) -> list[MemoryRecord]:
        """Store the records at once, not in the background. Records refused by the gate are logged and not returned."""
        kept = []
        for content in contents:
            try:
                kept.append(self.remember(content, *given, **named))
            except NotKept as kept_out:
                log.warning("%s", kept_out)
        return [record for record in kept if record is not None]

    def recall(  # noqa: PLR0917 - as CrewAI has it
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: str = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Return matches, best first. `score` (0 to 1) is the probability of being relevant. `depth` has no effect."""
        wanted: list[dict[str, Any]] = []
        within = join_scope_paths(self.root_scope, scope)
        if within != "/":
            wanted.append({f"metadata.{KEY}.within": {"contains": within}})
        if categories:
            wanted.append({"or": [{f"metadata.{KEY}.categories": {"contains": one}} for one in categories]})
        if not include_private:
            own: list[dict[str, Any]] = [{f"metadata.{KEY}.source": source}] if source is not None else []
            wanted.append({"or": [{"not": {f"metadata.{KEY}.private": True}}, *own]})
        narrowed = {"and": wanted} if wanted else {}
        found = recall_hits(self._storage.memos, query, top_k=min(limit, MOST_HITS), filter=narrowed)
        return [
            MemoryMatch(
                record=_record_of({**hit["metadata"], **hit}), score=hit["relevance"], match_reasons=["semantic"]
            )
            for hit in found
        ]

    def extract_memories(self, content: str) -> list[str]:
        if "llm" in self.model_fields_set:
            return super().extract_memories(content)
        return [content[start : start + MOST_TEXT_CHARS] for start in range(0, len(content), MOST_TEXT_CHARS)]


class MemOSStorage:
    """The StorageBackend of MemOSMemory, for single records. There is no vector search: MemOSMemory sends text."""

    def __init__(self, memos: MemOS) -> None:
        self.memos = memos

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def add(self, record: MemoryRecord, *, speaker: str | None = None) -> MemoryRecord:
        """Store the record; return it with the id from MemOS. Raises NotKept."""
        done = self.memos.remember(record.content, role="agent", speaker=speaker or "", metadata=_metadata_of(record))
        check_kept("The memory", done)
        return record.model_copy(update={"id": done["memory_id"]})

    def save(self, records: list[MemoryRecord]) -> None:
        for record in records:
            self.add(record)

    def search(self, *given: Any, **named: Any) -> list[tuple[MemoryRecord, float]]:
        raise NotImplementedError("MemOS is asked in words, not by a vector: give the crew a MemOSMemory.")

    def get_record(self, record_id: str) -> MemoryRecord | None:
        try:
            found = self.memos.memories.get(record_id)
        except NotFound:
            return None
        return _record_of(found) if found["state"] == "active" else None

    def update(self, record: MemoryRecord) -> None:
        kept = self.memos.memories.get(record.id)["metadata"]
        metadata = {**kept, **_metadata_of(record)}
        done = self.memos.memories.update(record.id, reason="changed by CrewAI", text=record.content, metadata=metadata)
        warn_of_marks("The memory", done)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        return list(islice(self._records(scope_prefix), offset, offset + limit))

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Archive matching records of CrewAI and return their number. Memories from other sources stay."""
        until = older_than and (older_than.astimezone(UTC).replace(tzinfo=None) if older_than.tzinfo else older_than)
        named = [
            one.id
            for one in self._records(scope_prefix)
            if (record_ids is None or one.id in record_ids)
            and (not categories or set(categories) & set(one.categories))
            and (until is None or one.created_at < until)
            and all(one.metadata.get(name) == value for name, value in (metadata_filter or {}).items())
        ]
        for identity in named:
            self.memos.memories.delete(identity, reason="forgotten by CrewAI")
        return len(named)

    async def asave(self, records: list[MemoryRecord]) -> None:
        await asyncio.to_thread(self.save, records)

    async def asearch(self, *given: Any, **named: Any) -> list[tuple[MemoryRecord, float]]:
        return self.search(*given, **named)

    async def adelete(self, *given: Any, **named: Any) -> int:
        return await asyncio.to_thread(self.delete, *given, **named)

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self._records(scope_prefix))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        found = list(self._records(scope))
        times = [one.created_at for one in found]
        return ScopeInfo(
            path=join_scope_paths(None, scope),
            record_count=len(found),
            categories=sorted({name for one in found for name in one.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        above = join_scope_paths(None, parent).rstrip("/")
        below = {one.scope.removeprefix(above).strip("/").split("/")[0] for one in self._records(parent)}
        return sorted(f"{above}/{name}" for name in below if name)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return dict(Counter(name for one in self._records(scope_prefix) for name in one.categories))

    def _records(self, scope: str | None) -> Iterator[MemoryRecord]:
        within = join_scope_paths(None, scope)
        # A namespace exists only from its first memory on.
        with suppress(NotFound):
            for memory in self.memos.memories.all(limit=PAGE):
                if within in memory["metadata"].get(KEY, {}).get("within", ()):
                    yield _record_of(memory)


def _metadata_of(record: MemoryRecord) -> dict[str, Any]:
    parts = [part for part in record.scope.split("/") if part]
    within = ["/", *("/" + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1))]
    own = record.model_dump(mode="json", include={"scope", "categories", "metadata", "importance", "source", "private"})
    return {KEY: {**own, "within": within}}


def _record_of(memory: Mapping[str, Any]) -> MemoryRecord:
    """Return a record. CrewAI's times are naive, in UTC."""
    own = {name: value for name, value in memory["metadata"].get(KEY, {}).items() if name != "within"}
    learned = datetime.fromisoformat(memory["created_at"]).astimezone(UTC).replace(tzinfo=None)
    return MemoryRecord(**own, id=memory["id"], content=memory["text"], created_at=learned, last_accessed=learned)
