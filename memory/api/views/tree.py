from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.serializers.tree import (
    TreeListingSerializer,
    TreeRebuildAnswerSerializer,
    TreeRebuildSerializer,
    TreeSerializer,
    session_to_dict,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.projection import tree


class TreeViewSet(MemosViewSet):
    """Sessions of a namespace and their topics, which are the clusters of its map."""

    required_scope = {"list": AccessScope.READ, "rebuild": AccessScope.WRITE}
    shared_actions = frozenset({"list"})

    @extend_schema(
        operation_id="list_tree",
        summary="List sessions with their topics",
        parameters=[TreeListingSerializer],
        responses={200: TreeSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(TreeListingSerializer, request.query_params)
        found = tree.list_sessions(
            self.scope(values["namespace"], create=False),
            session=values["session_id"],
            cursor=values["cursor"],
            limit=values["limit"],
            now=timezone.now(),
        )
        return Response(
            {
                "placed_at": found.placed_at.isoformat() if found.placed_at else None,
                "complete": found.complete,
                "sessions": [session_to_dict(one) for one in found.sessions],
                "next_cursor": write_cursor("tree", found.following),
            }
        )

    @extend_schema(
        operation_id="rebuild_tree",
        summary="Find the topics anew in the background",
        request=TreeRebuildSerializer,
        responses={202: TreeRebuildAnswerSerializer},
    )
    def rebuild(self, request: Request) -> Response:
        values = self.valid(TreeRebuildSerializer, request.data)
        job_id = tree.rebuild(self.scope(values["namespace"], create=False), now=timezone.now())
        return Response({"job_id": job_id}, status=status.HTTP_202_ACCEPTED)
