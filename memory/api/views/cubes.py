from __future__ import annotations

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.cursors import write_cursor
from memory.api.preconditions import ETAG, IF_MATCH, etag, terms_of
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.cubes import (
    CubeChangeSerializer,
    CubeCreateSerializer,
    CubeDetailSerializer,
    CubeListingSerializer,
    CubeListSerializer,
    CubeShareListSerializer,
    CubeShareSerializer,
    ShareSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, ShareLevel
from memory.services.cubes import change, contents, create, find, share

_UNGOVERNED = {"policy_version": None, "policy": None, "models": None}


class CubeViewSet(MemosViewSet):
    """Cubes: the memories of a namespace with a name and an owner, which can be shared."""

    required_scope = {
        **dict.fromkeys(("list", "retrieve"), AccessScope.READ),
        **dict.fromkeys(
            ("create", "register", "partial_update", "destroy", "shares", "share", "revoke"), AccessScope.ADMIN
        ),
    }
    shared_actions = frozenset({"list", "retrieve"})

    @extend_schema(
        operation_id="list_cubes",
        summary="The cubes that the key reaches, and those shared with whose key it is; newest first",
        parameters=[CubeListingSerializer],
        responses={200: CubeListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(CubeListingSerializer, request.query_params)
        rows, cursor = find.list_cubes(
            self.access,
            namespace=values["namespace"] or None,
            owner_id=values["owner_id"],
            cursor=values["cursor"],
            limit=values["limit"],
        )
        owners = find.owners_of(self.access, rows)
        return Response(
            {
                "cubes": [find.to_dict(self.access, row, owners) for row in rows],
                "next_cursor": write_cursor("cubes", cursor),
            }
        )

    @extend_schema(
        operation_id="create_cube",
        summary="Make a new namespace, and a cube of it",
        request=CubeCreateSerializer,
        responses={201: CubeDetailSerializer},
        parameters=[ETAG, IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        values = self.valid(CubeCreateSerializer, request.data)
        cube = create.create_cube(
            self.access, **values, now=timezone.now(), request_id=self.request_id, idempotency=self.idempotency()
        )
        return self._answer(cube, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="register_cube",
        summary="Make a cube of a namespace that is there, with all its memories",
        request=CubeCreateSerializer,
        responses={201: CubeDetailSerializer},
        parameters=[ETAG, IDEMPOTENCY_KEY],
    )
    def register(self, request: Request) -> Response:
        values = self.valid(CubeCreateSerializer, request.data)
        cube = create.register_cube(
            self.access, **values, now=timezone.now(), request_id=self.request_id, idempotency=self.idempotency()
        )
        return self._answer(cube, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="get_cube",
        summary="One cube: what it holds, and what governs it",
        parameters=[ETAG],
        responses={200: CubeDetailSerializer},
    )
    def retrieve(self, request: Request, cube_id: uuid.UUID) -> Response:
        return self._answer(find.find_cube(self.access, cube_id))

    @extend_schema(
        operation_id="configure_cube",
        summary="Change a cube's name, owner, kinds of memory or policy",
        request=CubeChangeSerializer,
        parameters=[IF_MATCH, ETAG],
        responses={200: CubeDetailSerializer},
    )
    def partial_update(self, request: Request, cube_id: uuid.UUID) -> Response:
        values = self.valid(CubeChangeSerializer, request.data)
        terms = terms_of(request, idempotency=None)
        cube = change.change_cube(self.access, cube_id=cube_id, wanted=values, terms=terms, now=timezone.now())
        return self._answer(cube)

    @extend_schema(
        operation_id="unregister_cube",
        summary="End a cube and its shares; the namespace and its memories stay",
        responses={204: None},
    )
    def destroy(self, request: Request, cube_id: uuid.UUID) -> Response:
        create.unregister_cube(self.access, cube_id=cube_id, now=timezone.now(), request_id=self.request_id)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="list_shares", summary="With whom a cube is shared", responses={200: CubeShareListSerializer}
    )
    def shares(self, request: Request, cube_id: uuid.UUID) -> Response:
        _, rows = share.list_shares(self.access, cube_id=cube_id)
        users, now = share.users_of(self.access, rows), timezone.now()
        return Response({"shares": [share.to_dict(row, users.get(row.user_id), now=now) for row in rows]})

    @extend_schema(
        operation_id="share_cube",
        summary="Share a cube with a user, or change what it is shared for",
        request=ShareSerializer,
        responses={200: CubeShareSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def share(self, request: Request, cube_id: uuid.UUID) -> Response:
        values, now = self.valid(ShareSerializer, request.data), timezone.now()
        find.find_cube(self.access, cube_id)
        user_id = values.get("user_id") or share.find_owner(self.access, prefix=values["key"]).pk
        row = share.share_cube(
            self.access,
            cube_id=cube_id,
            user_id=user_id,
            level=ShareLevel(values["level"]),
            expires_at=values["expires_at"],
            now=now,
            request_id=self.request_id,
            idempotency=self.idempotency(),
        )
        return Response(share.to_dict(row, share.users_of(self.access, [row]).get(user_id), now=now))

    @extend_schema(operation_id="revoke_share", summary="End a share, at once", responses={204: None})
    def revoke(self, request: Request, cube_id: uuid.UUID, user_id: uuid.UUID) -> Response:
        share.revoke_share(
            self.access, cube_id=cube_id, user_id=user_id, now=timezone.now(), request_id=self.request_id
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _answer(self, cube: find.Cube, *, status: int = status.HTTP_200_OK) -> Response:
        is_own = find.level_of(self.access, cube) == find.OWN
        body = {
            **find.to_dict(self.access, cube, find.owners_of(self.access, [cube])),
            "contents": contents.count_contents(cube),
            **(contents.describe_policy(cube) if is_own else _UNGOVERNED),
        }
        return Response(body, status=status, headers={"ETag": etag(cube.revision)})
