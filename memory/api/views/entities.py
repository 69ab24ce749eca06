from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.serializers.entities import (
    EntityChangedSerializer,
    EntityDetailSerializer,
    EntityListingSerializer,
    EntityListSerializer,
    EntityPageSerializer,
    GraphQuerySerializer,
    GraphSerializer,
    MergeSerializer,
    SplitSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.entities import curate, listing


class EntityViewSet(MemosViewSet):
    """The people and things that memories mention, and the relations between them."""

    required_scope = {
        "list": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "graph": AccessScope.READ,
        "merge": AccessScope.WRITE,
        "split": AccessScope.WRITE,
    }
    tells_stored = frozenset({"merge", "split"})
    shared_actions = frozenset({"list", "retrieve", "graph"})

    @extend_schema(
        operation_id="list_entities",
        summary="The entities that memories mention, newest first",
        parameters=[EntityListingSerializer],
        responses={200: EntityListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(EntityListingSerializer, request.query_params)
        rows, cursor = listing.entities(
            self.scope(values["namespace"], create=False),
            search=values["search"],
            kind=values["kind"],
            cursor=values["cursor"],
            limit=values["limit"],
        )
        return Response({"entities": rows, "next_cursor": write_cursor("entities", cursor)})

    @extend_schema(
        operation_id="show_entity",
        summary="One entity: names, neighbours, and its mentions by when they happened",
        parameters=[EntityPageSerializer],
        responses={200: EntityDetailSerializer},
    )
    def retrieve(self, request: Request, entity_id: uuid.UUID) -> Response:
        values = self.valid(EntityPageSerializer, request.query_params)
        found = listing.entity(
            self.scope(values["namespace"], create=False),
            entity_id=entity_id,
            cursor=values["cursor"],
            limit=values["limit"],
        )
        return Response(found)

    @extend_schema(
        operation_id="entity_graph",
        summary="Entities and what is said between them, as nodes and edges",
        parameters=[GraphQuerySerializer],
        responses={200: GraphSerializer},
    )
    def graph(self, request: Request) -> Response:
        values = self.valid(GraphQuerySerializer, request.query_params)
        found = listing.graph(
            self.scope(values["namespace"], create=False),
            around=values["around"],
            depth=values["depth"],
            limit=values["limit"],
        )
        return Response(found)

    @extend_schema(
        operation_id="merge_entities",
        summary="Make another entity's names stand for this one",
        request=MergeSerializer,
        responses={200: EntityChangedSerializer},
    )
    def merge(self, request: Request, entity_id: uuid.UUID) -> Response:
        values = self.valid(MergeSerializer, request.data)
        merged = curate.merge(
            self.scope(values["namespace"], create=False),
            entity_id=entity_id,
            source_id=values["source_id"],
            reason=values["reason"],
            now=timezone.now(),
        )
        return Response({"entity_id": str(merged.id), "name": merged.name, "kind": merged.kind})

    @extend_schema(
        operation_id="split_entity",
        summary="Take names or mentions off an entity, which become one of their own",
        request=SplitSerializer,
        responses={200: EntityChangedSerializer},
    )
    def split(self, request: Request, entity_id: uuid.UUID) -> Response:
        values = self.valid(SplitSerializer, request.data)
        apart = curate.split(
            self.scope(values["namespace"], create=False),
            entity_id=entity_id,
            alias_ids=values["alias_ids"],
            mention_ids=values["mention_ids"],
            reason=values["reason"],
            now=timezone.now(),
        )
        return Response({"entity_id": str(apart.id), "name": apart.name, "kind": apart.kind})
