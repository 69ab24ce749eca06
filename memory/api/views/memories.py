from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.preconditions import ETAG, IF_MATCH, etag, terms_of
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.memories import (
    ArchivedSerializer,
    ChangedSerializer,
    FeedbackSerializer,
    HistoryPageSerializer,
    HistorySerializer,
    MemoryChangeSerializer,
    MemorySerializer,
    OptionalReasonSerializer,
    RestoreSerializer,
    SupersedeSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, Feedback
from memory.services.memories import edit, feedback, lifecycle, read, reinstate
from memory.services.memories import supersede as supersession
from memory.types import ChangeTerms

UNSAID = "no reason given"
TO_ERASE = (
    "POST /v1/memories/{id}/restore brings it back. POST /v1/sessions/reset deletes its session for good, "
    "DELETE /v1/documents/{document_id} a document with its chunks."
)
WRITE = [IF_MATCH, IDEMPOTENCY_KEY, ETAG]


class MemoryViewSet(MemosViewSet):
    """Single memories: reading, correcting and archiving them, and giving feedback."""

    required_scope = {
        **dict.fromkeys(("retrieve", "history"), AccessScope.READ),
        **dict.fromkeys(
            ("partial_update", "destroy", "restore", "supersede", "pin", "unpin", "feedback"), AccessScope.WRITE
        ),
    }
    shared_actions = frozenset(required_scope)

    @extend_schema(
        operation_id="get_memory", summary="One memory", parameters=[ETAG], responses={200: MemorySerializer}
    )
    def retrieve(self, request: Request, memory_id: uuid.UUID) -> Response:
        return self._answer(read.get_memory(self.access, memory_id=memory_id))

    @extend_schema(
        operation_id="get_memory_history",
        summary="What became of a memory: versions, events, links, opinions",
        parameters=[HistoryPageSerializer],
        responses={200: HistorySerializer},
    )
    def history(self, request: Request, memory_id: uuid.UUID) -> Response:
        limit = self.valid(HistoryPageSerializer, request.query_params)["limit"]
        return Response(read.history(self.access, memory_id=memory_id, limit=limit))

    @extend_schema(
        operation_id="change_memory",
        summary="Correct a memory; its former version is kept",
        request=MemoryChangeSerializer,
        parameters=WRITE,
        responses={200: ChangedSerializer},
    )
    def partial_update(self, request: Request, memory_id: uuid.UUID) -> Response:
        values = self.valid(MemoryChangeSerializer, request.data)
        return self._answer(
            edit.edit(self.access, memory_id=memory_id, now=timezone.now(), terms=self._terms(), **values)
        )

    @extend_schema(
        operation_id="archive_memory",
        summary="Take a memory out of retrieval; it can be restored",
        parameters=[OptionalReasonSerializer, *WRITE],
        responses={200: ArchivedSerializer},
    )
    def destroy(self, request: Request, memory_id: uuid.UUID) -> Response:
        reason = self.valid(OptionalReasonSerializer, request.query_params).get("reason", UNSAID)
        done = lifecycle.archive_one(
            self.access, memory_id=memory_id, reason=reason, now=timezone.now(), terms=self._terms()
        )
        return self._answer({**done, "erased": False, "to_erase": TO_ERASE})

    @extend_schema(
        operation_id="restore_memory",
        summary="Bring a memory back: from the archive, to a former version, or to hold again",
        request=RestoreSerializer,
        parameters=WRITE,
        responses={200: ChangedSerializer},
    )
    def restore(self, request: Request, memory_id: uuid.UUID) -> Response:
        values = self.valid(RestoreSerializer, request.data)
        common: dict[str, Any] = {"memory_id": memory_id, "reason": values["reason"], "now": timezone.now(),
                                  "terms": self._terms()}  # fmt: skip
        if values["version_id"]:
            return self._answer(lifecycle.restore_version(self.access, version_id=values["version_id"], **common))
        if values["undo_supersede"]:
            return self._answer(reinstate.reinstate(self.access, **common))
        if values["statements"]:
            return self._answer(reinstate.reinstate(self.access, starts=values["statements"], **common))
        return self._answer(lifecycle.restore_one(self.access, **common))

    @extend_schema(
        operation_id="supersede_memory",
        summary="Say what holds instead of a memory; it stays, linked",
        request=SupersedeSerializer,
        parameters=WRITE,
        responses={200: ChangedSerializer},
    )
    def supersede(self, request: Request, memory_id: uuid.UUID) -> Response:
        values = self.valid(SupersedeSerializer, request.data)
        common: dict[str, Any] = {"older_id": memory_id, "reason": values["reason"], "now": timezone.now(),
                                  "terms": self._terms()}  # fmt: skip
        if values["by"]:
            return self._answer(supersession.supersede(self.access, newer_id=values["by"], **common))
        new = {name: values[name] for name in ("text", "metadata", "occurred_at")}
        return self._answer(supersession.supersede_by_text(self.access, **new, **common))

    @extend_schema(
        operation_id="pin_memory",
        summary="Exempt a memory from every sweep",
        request=OptionalReasonSerializer,
        parameters=WRITE,
        responses={200: ChangedSerializer},
    )
    def pin(self, request: Request, memory_id: uuid.UUID) -> Response:
        return self._pin(request, memory_id, pinned=True)

    @extend_schema(
        operation_id="unpin_memory",
        summary="Let sweeps archive a memory again",
        request=OptionalReasonSerializer,
        parameters=WRITE,
        responses={200: ChangedSerializer},
    )
    def unpin(self, request: Request, memory_id: uuid.UUID) -> Response:
        return self._pin(request, memory_id, pinned=False)

    @extend_schema(
        operation_id="give_feedback",
        summary="Say that a memory is useful, wrong or outdated",
        request=FeedbackSerializer,
        parameters=WRITE,
        responses={200: ChangedSerializer},
    )
    def feedback(self, request: Request, memory_id: uuid.UUID) -> Response:
        values = self.valid(FeedbackSerializer, request.data)
        done = feedback.give_feedback(
            self.access,
            memory_id=memory_id,
            kind=Feedback(values["kind"]),
            note=values["note"],
            now=timezone.now(),
            terms=self._terms(),
        )
        return self._answer(done)

    def _pin(self, request: Request, memory_id: uuid.UUID, *, pinned: bool) -> Response:
        reason = self.valid(OptionalReasonSerializer, request.data).get("reason", UNSAID)
        done = lifecycle.pin(
            self.access, memory_id=memory_id, pinned=pinned, reason=reason, now=timezone.now(), terms=self._terms()
        )
        return self._answer(done)

    def _terms(self) -> ChangeTerms:
        return terms_of(self.request, idempotency=self.idempotency())

    def _answer(self, body: dict[str, Any]) -> Response:
        return Response(body, headers={"ETag": etag(body["revision"])})
