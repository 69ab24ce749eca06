"""Adds, finds and lists memories for both the `/product` and the classic routes of MemTensor's API."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from memory.api.mem0.authentication import Mem0KeyAuthentication
from memory.api.mem0.base import tell_outcome
from memory.api.memtensor import answers, filters
from memory.api.memtensor.cube_names import CubeNames, CubePlace, Reached
from memory.api.memtensor.envelope import envelop
from memory.api.memtensor.serializers import MAX_PAGE_SIZE, list_cubes, read_chat_time
from memory.api.views.base import MemosViewSet
from memory.enums import GateDecision, MemoryKind, PreferenceReading, Role
from memory.retrieval.filters import Filter
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import read
from memory.services.memories.comparison import FEEDBACK_ON
from memory.services.memories.read import MemoryFilter
from memory.services.preferences.due import reading_of
from memory.services.recall.search import Ask
from memory.services.recall.search_across import search_across
from memory.services.tenancy.policy import in_force
from memory.types import NewMemory

# MemTensor's clients compare `message` with these texts.
ADDED_SAYS, FOUND_SAYS = "Memory added successfully", "Search completed successfully"
NO_INTERNET = " The internet was not searched: MemOS reads its own memories only."
_KEPT = (filters.TASK, "manager_user_id", "project_id", "source")


class MemoryDoors(CubeNames, MemosViewSet):
    """Adds, finds and lists memories of the cubes that a request names."""

    authentication_classes = (Mem0KeyAuthentication,)
    takes_unknown_fields = True

    def add_memories(self, values: Mapping[str, Any]) -> Response:
        """Store the messages in each of the cubes, in all of them or in none."""
        reached = self.reach(list_cubes(values, "writable_cube_ids"), values["user_id"])
        now = self.now_in(reached.names[0][1])
        kept = {name: values[name] for name in _KEPT if values[name] is not None}
        tags = {filters.TAGS: values["custom_tags"]} if values["custom_tags"] else {}
        metadata = {**(values["info"] or {}), **kept, **tags, filters.USER: values["user_id"]}
        turns, left_out = [], set()
        for message in values["messages"]:
            content = message["content"]
            left_out |= set(content.left_out) if content else set()
            if content is None or not content.text:
                continue
            said_at = read_chat_time(message["chat_time"])
            timed = {answers.CHAT_TIME: message["chat_time"]} if message["chat_time"] else {}
            session = reached.name_session(values["session_id"], said_at or now, now.tzinfo)
            own = {**metadata, **timed}
            turns.append(NewMemory(session, message["role"], content.text, message["name"] or "", own, said_at))
        if not turns:
            raise ValidationError({"messages": "hold no text: send files to POST /v1/documents."})
        idempotency = self.idempotency()
        places = self.find_places(reached, create=True)
        items = [(place.scope, turn) for place in places for turn in turns]
        done = ingest_batch(items, now=now, idempotency=idempotency)
        redacted = [one for one in done.outcomes if one.verdict == GateDecision.ACCEPT_REDACTED]
        marked = [one.memory_id for one in redacted if one.memory_id]
        stored = {row["id"]: row["text"] for place in places for row in read.get_many(place.scope, marked)}
        added = [
            {
                "memory": stored.get(str(outcome.memory_id), turn.text),
                "memory_id": str(outcome.memory_id),
                "memory_type": answers.name_type(turn.role),
                "cube_id": place.cube_id,
            }
            for (place, turn), outcome in zip(
                ((place, turn) for place in places for turn in turns), done.outcomes, strict=True
            )
            if outcome.accepted
        ]
        infer = None if values["mode"] == "fine" else False
        says = tell_outcome(places[0].scope, done, infer=infer, left_out=left_out)
        return envelop(added, ADDED_SAYS, says + tell_unread_times(values["messages"]))

    def search_cubes(self, values: Mapping[str, Any]) -> Response:
        """Return the memories of all cubes that answer the question best, and the preferences nearest to it."""
        reached = self.reach(list_cubes(values, "readable_cube_ids", "install_cube_ids"), values["user_id"])
        where = filters.join(reached.where, values["filter"])
        places = self.find_places(reached)
        found = self.find_hits(places, values["query"], values["top_k"], where, least=values["relativity"])
        has_preferences = values["include_preference"] is not False
        # Preferences belong to a namespace, so filtering by a user would find none.
        if has_preferences and values["pref_top_k"] and not reached.of_user:
            self._add_preferences(found, places, values, where)
        grouped = answers.group(found, with_preferences=has_preferences)
        return envelop(grouped, FOUND_SAYS, NO_INTERNET.strip() if values["internet_search"] else "")

    def _add_preferences(
        self,
        found: Sequence[dict[str, Any]],
        places: Sequence[CubePlace],
        values: Mapping[str, Any],
        where: Filter | None,
    ) -> None:
        """Add the preferences that answer best, from cubes whose policy extracts them."""
        keeping = [place for place in places if reading_of(place.scope.namespace_id) != PreferenceReading.OFF]
        of_kind = filters.join(where, filters.hold_kind(MemoryKind.PREFERENCE))
        near = self.find_hits(keeping, values["query"], values["pref_top_k"], of_kind, least=values["relativity"])
        by_cube = {cube["cube_id"]: cube["memories"] for cube in near}
        for cube in found:
            known = {memory["id"] for memory in cube["memories"]}
            cube["memories"] += [one for one in by_cube.get(cube["cube_id"], ()) if one["id"] not in known]

    def find_hits(
        self, places: Sequence[CubePlace], query: str, top_k: int, where: Filter | None, *, least: float | None = None
    ) -> list[dict[str, Any]]:
        """Return the hits of each cube, best first."""
        if not places:
            return []
        ask = Ask(query, top_k, self.now_in(places[0].scope.namespace), where=where, min_relevance=least or 0.0)
        hits = search_across([place.scope for place in places], ask).hits
        cubes = []
        for place in places:
            own = [answers.describe_hit(one.hit) for one in hits if one.scope.namespace_id == place.scope.namespace_id]
            cubes.append({"cube_id": place.cube_id, "memories": own, "total_nodes": len(own)})
        return cubes

    def list_everything(self, values: Mapping[str, Any]) -> Response:
        """Answer with all memories of the cubes, newest first, at most MAX_PAGE_SIZE of each.

        With `search_query`, memories that answer it are listed instead.
        """
        reached = self.reach(list_cubes(values, "mem_cube_ids"), values["user_id"])
        places = self.find_places(reached)
        kind = MemoryKind.PREFERENCE.value if values["memory_type"] == "pref_mem" else None
        if values["memory_type"] not in (None, "text_mem", "pref_mem"):
            nothing = [{"cube_id": place.cube_id, "memories": [], "total_nodes": 0} for place in places]
            return envelop(nothing, f"No {values['memory_type']}: what MemOS keeps of these cubes is text_mem.")
        if values["search_query"] is not None:
            return envelop(self.find_hits(places, values["search_query"], 100, reached.where), "Memories found.")
        cubes = [self.list_place(place, reached.where, page=1, size=MAX_PAGE_SIZE, kind=kind) for place in places]
        says = "All memories."
        if any(cube["total_nodes"] > MAX_PAGE_SIZE for cube in cubes):
            says = f"The newest {MAX_PAGE_SIZE} of each cube: POST /product/get_memory pages through the others."
        return envelop(cubes, says)

    def list_place(
        self, place: CubePlace, where: Filter | None, *, page: int, size: int, kind: str | None = None
    ) -> dict[str, Any]:
        """Return a page of a cube's memories and their total, optionally only those of a `kind`."""
        wanted = MemoryFilter(kind=kind, limit=size)
        rows, total = read.list_slice(
            place.scope, wanted=wanted, offset=(page - 1) * size, now=timezone.now(), where=where
        )
        return {
            "cube_id": place.cube_id,
            "memories": [answers.describe_row(row) for row in rows],
            "total_nodes": total,
        }

    def take_feedback(self, values: Mapping[str, Any]) -> Response:
        """Store feedback on memories with their ids, so that settling compares it with these first.

        Raises ValidationError for a memory that the request does not reach.
        """
        reached = self.reach(list_cubes(values, "writable_cube_ids"), values["user_id"])
        idempotency = self.idempotency()
        places = self.find_places(reached, create=True)
        named: list[uuid.UUID] = values["retrieved_memory_ids"] or []
        rows = [row for place in places for row in read.get_many(place.scope, named)]
        known = {row["id"] for row in rows if not reached.of_user or filters.find_user(row) == values["user_id"]}
        if unknown := [one for one in named if str(one) not in known]:
            raise ValidationError({"retrieved_memory_ids": f"{unknown[0]} is no memory of these cubes."})
        now = self.now_in(reached.names[0][1])
        about = {FEEDBACK_ON: [str(one) for one in named]} if named else {}
        metadata = {**(values["info"] or {}), **about, filters.USER: values["user_id"]}
        said_at = values["feedback_time"]
        session = reached.name_session(values["session_id"], said_at or now, now.tzinfo)
        turn = NewMemory(session, Role.USER, values["feedback_content"], "", metadata, said_at)
        done = ingest_batch([(place.scope, turn) for place in places], now=now, idempotency=idempotency)
        kept = [
            (place, outcome.memory_id)
            for place, outcome in zip(places, done.outcomes, strict=True)
            if outcome.accepted and outcome.memory_id
        ]
        added = []
        for place, identity in kept:
            [row] = read.get_many(place.scope, [identity])
            added.append({"id": str(identity), "text": row["text"], "cube_id": place.cube_id})
        says = tell_outcome(places[0].scope, done, infer=False)
        says += _tell_comparing([place for place, _ in kept], is_naming=bool(named))
        if values["corrected_answer"]:
            says += " No corrected answer was made: POST /product/chat/complete answers anew."
        return envelop({"record": {"add": added, "update": []}}, says)

    def reach_one(self, cube_id: str | None, user_id: str) -> tuple[Reached, list[CubePlace]]:
        """Return one cube, or the user's memories if no cube is named."""
        reached = self.reach([cube_id] if cube_id else [], user_id)
        return reached, self.find_places(reached)


def tell_unread_times(messages: Sequence[Mapping[str, Any]]) -> str:
    """Name the first `chat_time` that MemOS cannot parse and stores only as text. Returns "" if there is none."""
    said = [message["chat_time"] for message in messages if message["chat_time"]]
    unread = next((text for text in said if read_chat_time(text) is None), None)
    return f" The chat_time {unread!r} is kept as text: MemOS reads ISO 8601." if unread else ""


def _tell_comparing(places: Sequence[CubePlace], *, is_naming: bool) -> str:
    """Say what the feedback will correct in these cubes."""
    comparing = [place for place in places if in_force(place.scope.namespace_id).policy.settle_conflicts]
    says = ""
    if comparing:
        earlier = "the memories that it names and with other earlier ones" if is_naming else "earlier memories"
        says = f" In the background it is compared with {earlier}; what it plainly corrects is superseded."
    if without := [place.cube_id for place in places if place not in comparing]:
        says += f" It corrects nothing in {', '.join(without)}: the policy has conflicts.settle turned off there."
    return says
