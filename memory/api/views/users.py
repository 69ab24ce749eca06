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
from memory.api.serializers.users import (
    ProfileQuerySerializer,
    ProfileSerializer,
    UserChangeSerializer,
    UserCreateSerializer,
    UserEraseSerializer,
    UserErasureSerializer,
    UserListingSerializer,
    UserListSerializer,
    UserSerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.services.erasure import users as erasing
from memory.services.preferences.profile import ProfileFilter, read_profile
from memory.services.tenancy import users


class UserViewSet(MemosViewSet):
    """The people whose memories are kept."""

    required_scope = {
        "list": AccessScope.READ,
        "retrieve": AccessScope.READ,
        "create": AccessScope.WRITE,
        "partial_update": AccessScope.WRITE,
        "destroy": AccessScope.ADMIN,
        "erasure": AccessScope.ADMIN,
        "profile": AccessScope.READ,
    }
    tells_stored = frozenset({"create", "partial_update"})
    bodies_of_delete = ("destroy",)

    @extend_schema(
        operation_id="list_users",
        summary="The users of the namespaces that the key reaches, newest first",
        parameters=[UserListingSerializer],
        responses={200: UserListSerializer},
    )
    def list(self, request: Request) -> Response:
        values = self.valid(UserListingSerializer, request.query_params)
        rows, cursor = users.list_users(
            self.access,
            namespace=values["namespace"] or None,
            name=values["name"] or None,
            cursor=values["cursor"],
            limit=values["limit"],
        )
        namespaces = users.namespaces_of(self.access, rows)
        return Response(
            {
                "users": [users.to_dict(row, namespaces[row.pk]) for row in rows],
                "next_cursor": write_cursor("users", cursor),
            }
        )

    @extend_schema(
        operation_id="create_user",
        summary="Make a user, who belongs to a namespace",
        request=UserCreateSerializer,
        responses={201: UserSerializer},
        parameters=[ETAG, IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        values = self.valid(UserCreateSerializer, request.data)
        user = users.create_user(
            self.access, **values, now=timezone.now(), request_id=self.request_id, idempotency=self.idempotency()
        )
        return self._answer(user, status=status.HTTP_201_CREATED)

    @extend_schema(operation_id="get_user", summary="One user", parameters=[ETAG], responses={200: UserSerializer})
    def retrieve(self, request: Request, user_id: uuid.UUID) -> Response:
        return self._answer(users.find_user(self.access, user_id=user_id))

    @extend_schema(
        operation_id="change_user",
        summary="Change a user's names, preferences, metadata or namespaces",
        request=UserChangeSerializer,
        parameters=[IF_MATCH, ETAG],
        responses={200: UserSerializer},
    )
    def partial_update(self, request: Request, user_id: uuid.UUID) -> Response:
        values = self.valid(UserChangeSerializer, request.data)
        terms = terms_of(request, idempotency=None)
        return self._answer(
            users.change_user(self.access, user_id=user_id, wanted=values, terms=terms, now=timezone.now())
        )

    @extend_schema(
        operation_id="erase_user",
        summary="Forget a user for good, with its memories; the answer is the receipt",
        request=UserEraseSerializer,
        parameters=[IF_MATCH],
        responses={200: UserErasureSerializer},
    )
    def destroy(self, request: Request, user_id: uuid.UUID) -> Response:
        values, now = self.valid(UserEraseSerializer, request.data), timezone.now()
        if values["dry_run"]:
            return Response(erasing.preview(self.access, user_id=user_id, reason=values["reason"], now=now))
        receipt = erasing.erase_user(
            self.access,
            user_id=user_id,
            reason=values["reason"],
            confirm=values["confirm"],
            terms=terms_of(request, idempotency=None),
            now=now,
        )
        return Response(erasing.to_dict(self.access, receipt))

    @extend_schema(
        operation_id="get_user_erasure",
        summary="The receipt of a user who was erased, and how far that is",
        responses={200: UserErasureSerializer},
    )
    def erasure(self, request: Request, user_id: uuid.UUID) -> Response:
        return Response(erasing.to_dict(self.access, erasing.find_receipt(self.access, user_id=user_id)))

    @extend_schema(
        operation_id="get_user_profile",
        summary="What is kept of a user's likes, dislikes, constraints and habits, each with the memories that say it",
        parameters=[ProfileQuerySerializer],
        responses={200: ProfileSerializer},
    )
    def profile(self, request: Request, user_id: uuid.UUID) -> Response:
        wanted = ProfileFilter(**self.valid(ProfileQuerySerializer, request.query_params))
        profile = read_profile(self.access, user_id=user_id, wanted=wanted, now=timezone.now())
        return Response({**profile, "next_cursor": write_cursor("preferences", profile["next_cursor"])})

    def _answer(self, user: users.User, *, status: int = status.HTTP_200_OK) -> Response:
        body = users.to_dict(user, users.namespaces_of(self.access, [user])[user.pk])
        return Response(body, status=status, headers={"ETag": etag(user.revision)})
