from __future__ import annotations

from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.serializers.session import ResetDoneSerializer, ResetSerializer, SeededSerializer, SeedSerializer
from memory.api.views.base import MemosViewSet
from memory.demo.seed import seed_session
from memory.enums import AccessScope
from memory.errors import Forbidden
from memory.services.recall.search import NAMESPACE_UNKNOWN
from memory.services.sessions.reset import NOTHING_DELETED, reset_session


class SessionViewSet(MemosViewSet):
    """Empties a session, or fills one with demo data."""

    required_scope = {"reset": AccessScope.ADMIN, "seed": AccessScope.WRITE}

    @extend_schema(
        operation_id="reset_session",
        summary="Empty a session: memories, summaries, packs and window",
        request=ResetSerializer,
        responses={200: ResetDoneSerializer},
    )
    def reset(self, request: Request) -> Response:
        values = self.valid(ResetSerializer, request.data)
        if not values["confirm"]:
            raise ValidationError({"confirm": "must be true: this deletes the session (with dry_run it only counts)."})
        now = timezone.now()
        scope = self.scope_if_there(values["namespace"])
        deleted = NOTHING_DELETED
        if scope is not None:
            deleted = reset_session(
                scope,
                session=values["session_id"],
                dry_run=values["dry_run"],
                clear_audit=values["clear_audit"],
                now=now,
            )
        return Response(
            {
                "ok": True,
                "dry_run": values["dry_run"],
                "namespace": values["namespace"],
                "session_id": values["session_id"],
                "reset_at": now.isoformat(),
                "deleted_counts": asdict(deleted),
                "degraded": [] if scope else [NAMESPACE_UNKNOWN],
            }
        )

    @extend_schema(
        operation_id="seed_demo_session",
        summary="Fill a session with demo data",
        parameters=[SeedSerializer],
        request=None,
        responses={200: SeededSerializer},
    )
    def seed(self, request: Request) -> Response:
        values = self.valid(SeedSerializer, request.query_params)
        if values["reset"] and not self.access.may(AccessScope.ADMIN):
            raise Forbidden("Emptying the session first needs a key with the scope 'admin'.", detail={"field": "reset"})
        memory_ids = seed_session(
            self.scope(values["namespace"]),
            session=values["session_id"],
            reset=values["reset"],
            now=timezone.now(),
        )
        return Response(
            {
                "ok": True,
                "namespace": values["namespace"],
                "session_id": values["session_id"],
                "inserted": len(memory_ids),
                "memory_ids": [str(memory_id) for memory_id in memory_ids],
            }
        )
