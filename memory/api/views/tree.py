from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.serializers.tree import (
    TreeListingSerializer,
    TreeNodeSerializer,
    TreePageSerializer,
    TreeRebuildAnswerSerializer,
    TreeRebuildSerializer,
    TreeSerializer,
    node_to_dict,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.memories import read
from memory.services.tree import browse, grow
from memory.services.tree.browse import NodeShown

Children = Mapping[uuid.UUID, tuple[Sequence[NodeShown], uuid.UUID | None]]


class TreeViewSet(MemosViewSet):
    """The tree of a namespace: its sessions, their topics, and the memories in them."""

    required_scope = {"list": AccessScope.READ, "retrieve": AccessScope.READ, "rebuild": AccessScope.WRITE}
    shared_actions = frozenset({"list", "retrieve"})

    @extend_schema(
        operation_id="list_tree",
        summary="The sessions of the tree, or the topics of one",
        parameters=[TreeListingSerializer],
        responses={200: TreeSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(TreeListingSerializer, request.query_params)
        scope, now = self.scope(values["namespace"], create=False), timezone.now()
        nodes, cursor = browse.list_nodes(
            scope,
            parent=values["parent"],
            session=values["session_id"],
            cursor=values["cursor"],
            limit=values["limit"],
            now=now,
        )
        children: Children = browse.list_children(scope, nodes, now=now) if values["depth"] > 1 else {}
        state = browse.read_state(scope)
        return Response(
            {
                "use": state.use.value,
                "complete": state.complete,
                "nodes": [_branch_to_dict(node, children) for node in nodes],
                "next_cursor": write_cursor("topics", cursor),
            }
        )

    @extend_schema(
        operation_id="show_tree_node",
        summary="One node of the tree: label, summary, path, what is below it, and its memories",
        parameters=[TreePageSerializer],
        responses={200: TreeNodeSerializer},
    )
    def retrieve(self, request: Request, node_id: uuid.UUID) -> Response:
        values = self.valid(TreePageSerializer, request.query_params)
        scope, now = self.scope(values["namespace"], create=False), timezone.now()
        node, above = browse.find_node(scope, node_id=node_id, now=now)
        ids, cursor = browse.list_memory_ids(scope, node=node, cursor=values["cursor"], limit=values["limit"], now=now)
        path = [{"id": str(step.id), "level": step.level.value, "label": step.label} for step in [*above, node]]
        children: Children = browse.list_children(scope, [node], now=now)
        return Response(
            {
                "node": {**_branch_to_dict(node, children), "path": path},
                "memories": read.get_many(scope, ids),
                "next_cursor": write_cursor("topic-memories", cursor),
            }
        )

    @extend_schema(
        operation_id="rebuild_tree",
        summary="Have the tree made anew in the background; a policy that keeps none is a 409",
        request=TreeRebuildSerializer,
        responses={202: TreeRebuildAnswerSerializer},
    )
    def rebuild(self, request: Request) -> Response:
        values = self.valid(TreeRebuildSerializer, request.data)
        job_id = grow.rebuild(self.scope(values["namespace"], create=False), now=timezone.now())
        return Response({"job_id": job_id}, status=status.HTTP_202_ACCEPTED)


def _branch_to_dict(node: NodeShown, children: Children) -> dict[str, Any]:
    below, cursor = children.get(node.id, ((), None))
    return {
        **node_to_dict(node),
        "children": [node_to_dict(child) for child in below],
        "children_cursor": write_cursor("topics", cursor),
    }
