from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.fields import StrictCharField
from memory.api.memtensor.envelope import MemTensorErrorSerializer, describe_envelope, envelop
from memory.api.memtensor.serializers import NameField, OptionalNameField, RefusedPathField
from memory.api.memtensor.views import MemTensorViewSet
from memory.api.route_tags import MEMTENSOR
from memory.enums import AccessScope, ShareLevel
from memory.errors import Conflict, NotFound
from memory.models import Cube, User
from memory.services.cubes.create import create_cube, register_cube, unregister_cube
from memory.services.cubes.find import find_cube_of, level_of, list_cubes
from memory.services.cubes.share import share_cube
from memory.services.tenancy.users import MAX_NAME_CHARS, create_user, find_user, list_users, namespaces_of, to_dict


class MemTensorCreateCubeSerializer(serializers.Serializer):
    cube_name = NameField(help_text="Without a `cube_id` the name of the new namespace as well")
    cube_id = OptionalNameField(help_text="The name of the new namespace")
    owner_id = OptionalNameField(help_text="The user whose it is, by id or name")
    cube_path = RefusedPathField()


class MemTensorRegisterCubeSerializer(serializers.Serializer):
    mem_cube_name_or_path = OptionalNameField(help_text="A namespace that is there; a path is no name of one")
    mem_cube_id = OptionalNameField(help_text="The same")
    user_id = OptionalNameField(help_text="The user whose it is, by id or name")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs["mem_cube_id"] or attrs["mem_cube_name_or_path"]):
            raise serializers.ValidationError({"mem_cube_id": "is missing: name a namespace that is there."})
        return attrs


class MemTensorCubeIdSerializer(serializers.Serializer):
    mem_cube_id = NameField()


class MemTensorCubeSerializer(serializers.Serializer):
    cube_id = serializers.UUIDField()
    mem_cube_id = serializers.CharField(help_text="The name of its namespace, which names it as well")
    cube_name = serializers.CharField()
    owner_id = serializers.UUIDField(allow_null=True)


class MemTensorUserCreateSerializer(serializers.Serializer):
    user_id = OptionalNameField(help_text="The user's name in the namespace")
    user_name = StrictCharField(
        required=False, allow_null=True, allow_blank=True, default=None, max_length=MAX_NAME_CHARS,
        help_text="The user's name for display; without a `user_id` the name in the namespace as well",
    )  # fmt: skip
    mem_cube_id = OptionalNameField(help_text="Where the user belongs; left out: the key's namespace")
    interests = StrictCharField(required=False, allow_null=True, allow_blank=True, default=None, max_length=2000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs["user_id"] or attrs["user_name"]):
            raise serializers.ValidationError({"user_id": "is missing: give a user_id or a user_name."})
        return attrs


class MemTensorUserSerializer(serializers.Serializer):
    user_id = serializers.CharField(help_text="The user's name: what memories of the user are added under")
    user_name = serializers.CharField()
    id = serializers.UUIDField(help_text="As in /v1/users/{user_id}")
    mem_cube_id = serializers.CharField(help_text="The namespace")
    cubes = serializers.ListField(child=serializers.CharField(), help_text="All namespaces that are the user's")
    created_at = serializers.DateTimeField()


class MemTensorShareSerializer(serializers.Serializer):
    target_user_id = NameField(help_text="The user with whom it is shared, by id or name")
    level = serializers.ChoiceField(ShareLevel.choices, required=False, default=ShareLevel.READ)


class MemTensorSharedSerializer(serializers.Serializer):
    mem_cube_id = serializers.CharField()
    target_user_id = serializers.UUIDField()
    level = serializers.ChoiceField(ShareLevel.choices)


class MemTensorAccessibleCubeSerializer(MemTensorCubeSerializer):
    level = serializers.CharField(help_text="`own`, or what it is shared for: `read`, `write`")


class MemTensorCallerSerializer(MemTensorUserSerializer):
    accessible_cubes = MemTensorAccessibleCubeSerializer(many=True, help_text="The newest 200")


USER = describe_envelope("UserFound", MemTensorUserSerializer())
USERS = describe_envelope("UserList", MemTensorUserSerializer(many=True))
CUBE = describe_envelope("CubeMade", MemTensorCubeSerializer())
SHOWN_USERS = 200
_IS_THERE = "The cube is there already."


@extend_schema(tags=[MEMTENSOR.name])
class MemTensorCubeViewSet(MemTensorViewSet):
    """Cubes, created and looked up as on MemTensor's server."""

    required_scope = {
        **dict.fromkeys(("create", "register", "classic_register", "destroy", "share"), AccessScope.ADMIN),
        "exists": AccessScope.READ,
    }
    shared_actions = frozenset({"exists"})

    @extend_schema(
        operation_id="memtensor_create_cube",
        summary="Make a new namespace, and a cube of it",
        request=MemTensorCreateCubeSerializer,
        responses={200: CUBE},
    )
    def create(self, request: Request) -> Response:
        values = self.valid(MemTensorCreateCubeSerializer, request.data)
        namespace, owner_id = values["cube_id"] or values["cube_name"], self._find_owner(values["owner_id"])
        try:
            cube = create_cube(
                self.access,
                namespace=namespace,
                name=values["cube_name"],
                owner_id=owner_id,
                now=timezone.now(),
                request_id=self.request_id,
            )
        except Conflict as refusal:
            cube = self._find_as_asked(namespace, values["cube_name"], owner_id, refusal)
            return envelop(_tell_cube(cube), _IS_THERE)
        return envelop(_tell_cube(cube), "The cube was made.")

    @extend_schema(
        operation_id="memtensor_register_cube",
        summary="Make a cube of a namespace that is there",
        request=MemTensorRegisterCubeSerializer,
        responses={200: CUBE},
    )
    def register(self, request: Request) -> Response:
        return self._register(request)

    @extend_schema(
        operation_id="memtensor_classic_register_cube",
        summary="The same, as the classic route has it",
        request=MemTensorRegisterCubeSerializer,
        responses={200: CUBE},
    )
    def classic_register(self, request: Request) -> Response:
        return self._register(request)

    @extend_schema(
        operation_id="memtensor_classic_unregister_cube",
        summary="End a cube and its shares; the namespace and its memories stay",
        responses={200: describe_envelope("CubeEnded", MemTensorCubeIdSerializer())},
    )
    def destroy(self, request: Request, mem_cube_id: str) -> Response:
        cube = self._find_cube(mem_cube_id)
        unregister_cube(self.access, cube_id=cube.pk, now=timezone.now(), request_id=self.request_id)
        return envelop({"mem_cube_id": mem_cube_id}, "The cube is ended; its memories stay in its namespace.")

    @extend_schema(
        operation_id="memtensor_classic_share_cube",
        summary="Share a cube with a user, for reading unless `level` says otherwise",
        request=MemTensorShareSerializer,
        responses={200: describe_envelope("CubeShared", MemTensorSharedSerializer())},
    )
    def share(self, request: Request, mem_cube_id: str) -> Response:
        values = self.valid(MemTensorShareSerializer, request.data)
        cube = self._find_cube(mem_cube_id)
        shared = share_cube(
            self.access,
            cube_id=cube.pk,
            user_id=_find_user(self, values["target_user_id"]).pk,
            level=ShareLevel(values["level"]),
            now=timezone.now(),
            request_id=self.request_id,
        )
        data = {"mem_cube_id": mem_cube_id, "target_user_id": str(shared.user_id), "level": shared.level}
        return envelop(data, "The cube is shared.")

    @extend_schema(
        operation_id="memtensor_exist_mem_cube_id",
        summary="Whether there is a cube that the key reaches",
        request=MemTensorCubeIdSerializer,
        responses={200: describe_envelope("CubeExists", serializers.DictField(child=serializers.BooleanField()))},
    )
    def exists(self, request: Request) -> Response:
        cube_id = self.valid(MemTensorCubeIdSerializer, request.data)["mem_cube_id"]
        try:
            self._find_cube(cube_id)
        except NotFound:
            return envelop({cube_id: False}, "There is no such cube that this key reaches.")
        return envelop({cube_id: True}, "There is.")

    def _register(self, request: Request) -> Response:
        values = self.valid(MemTensorRegisterCubeSerializer, request.data)
        namespace, owner_id = (
            values["mem_cube_id"] or values["mem_cube_name_or_path"],
            self._find_owner(values["user_id"]),
        )
        name = values["mem_cube_name_or_path"] if values["mem_cube_id"] else None
        try:
            cube = register_cube(
                self.access,
                namespace=namespace,
                name=name or namespace,
                owner_id=owner_id,
                now=timezone.now(),
                request_id=self.request_id,
            )
        except Conflict as refusal:
            return envelop(_tell_cube(self._find_as_asked(namespace, name, owner_id, refusal)), _IS_THERE)
        return envelop(_tell_cube(cube), "The cube was registered.")

    def _find_as_asked(self, namespace: str, name: str | None, owner_id: uuid.UUID | None, refusal: Conflict) -> Cube:
        """Return the existing cube, because clients create their cubes again at each start.

        Raises `refusal` if there is none, or if it differs from the request.
        """
        try:
            cube = find_cube_of(self.access, namespace=namespace)
        except NotFound:
            raise refusal from None
        if (name and name.strip() != cube.name) or (owner_id and owner_id != cube.owner_id):
            raise refusal
        return cube

    def _find_cube(self, cube_id: str) -> Cube:
        [(_, namespace)] = self.reach([cube_id], cube_id).names
        return find_cube_of(self.access, namespace=namespace)

    def _find_owner(self, name: str | None) -> uuid.UUID | None:
        if name is None:
            return None
        return _find_user(self, name).pk


@extend_schema(tags=[MEMTENSOR.name])
class MemTensorUserViewSet(MemTensorViewSet):
    """Users as on MemTensor's server, named as in the requests that add their memories."""

    required_scope = {
        **dict.fromkeys(("list_users", "retrieve", "classic_list", "me"), AccessScope.READ),
        **dict.fromkeys(("create", "classic_create"), AccessScope.WRITE),
    }
    shared_actions = frozenset({"me"})

    @extend_schema(operation_id="memtensor_list_users", summary="The newest users, 200 at most", responses={200: USERS})
    def list_users(self, request: Request) -> Response:
        return self._list()

    @extend_schema(
        operation_id="memtensor_classic_list_users",
        summary="The same, as the classic route has it",
        responses={200: USERS},
    )
    def classic_list(self, request: Request) -> Response:
        return self._list()

    @extend_schema(operation_id="memtensor_get_user", summary="One user, by id or name", responses={200: USER})
    def retrieve(self, request: Request, user_id: str) -> Response:
        return envelop(self._tell([_find_user(self, user_id)])[0], "The user.")

    @extend_schema(
        operation_id="memtensor_classic_me",
        summary="The user whose key it is, and the cubes that the key reaches",
        responses={
            200: describe_envelope("CallerFound", MemTensorCallerSerializer()),
            404: OpenApiResponse(
                MemTensorErrorSerializer, "The key has no owner, or does not reach the namespace of its owner."
            ),
        },
    )
    def me(self, request: Request) -> Response:
        if self.access.user_id is None:
            raise NotFound("This key has no owner: an operator names one in the admin.")
        user = find_user(self.access, user_id=self.access.user_id)
        cubes, _ = list_cubes(self.access, limit=SHOWN_USERS)
        reached = [{**_tell_cube(cube), "level": level_of(self.access, cube)} for cube in cubes]
        return envelop({**self._tell([user])[0], "accessible_cubes": reached}, "Whose key it is.")

    @extend_schema(
        operation_id="memtensor_register_user",
        summary="Make a user",
        request=MemTensorUserCreateSerializer,
        responses={200: USER},
    )
    def create(self, request: Request) -> Response:
        return self._create(request)

    @extend_schema(
        operation_id="memtensor_classic_create_user",
        summary="The same, as the classic route has it",
        request=MemTensorUserCreateSerializer,
        responses={200: USER},
    )
    def classic_create(self, request: Request) -> Response:
        return self._create(request)

    def _create(self, request: Request) -> Response:
        values = self.valid(MemTensorUserCreateSerializer, request.data)
        name = values["user_id"] or values["user_name"]
        cube_ids = [values["mem_cube_id"]] if values["mem_cube_id"] else []
        reached = self.reach(cube_ids, name)
        [place] = self.find_places(reached, create=reached.of_user)
        namespace = place.scope.namespace
        display_name = values["user_name"] or ""
        preferences = {"interests": values["interests"]} if values["interests"] else {}
        try:
            user = create_user(
                self.access,
                namespace=namespace,
                name=name,
                display_name=display_name,
                preferences=preferences or None,
                now=timezone.now(),
                request_id=self.request_id,
            )
        except Conflict:
            there, _ = list_users(self.access, namespace=namespace, name=name, limit=1)
            if not self.access.may(AccessScope.READ) or not there:
                raise
            # Fields that the request leaves out may have any value.
            is_named_so = display_name.strip() in ("", there[0].display_name)
            if not (is_named_so and preferences.items() <= there[0].preferences.items()):
                raise
            return envelop(self._tell(there)[0], "The user is there already.")
        return envelop(self._tell([user])[0], "The user was made.")

    def _list(self) -> Response:
        rows, following = list_users(self.access, limit=SHOWN_USERS)
        says = f"The newest {SHOWN_USERS}: GET /v1/users pages through the others." if following else "All users."
        return envelop(self._tell(rows), says)

    def _tell(self, rows: list[User]) -> list[dict[str, Any]]:
        others = namespaces_of(self.access, rows)
        told = [to_dict(row, others[row.pk]) for row in rows]
        return [
            {
                "user_id": one["name"],
                "user_name": one["display_name"] or one["name"],
                "id": one["id"],
                "mem_cube_id": one["namespace"],
                "cubes": one["namespaces"],
                "created_at": one["created_at"],
            }
            for one in told
        ]


def _find_user(view: MemTensorViewSet, name: str) -> User:
    """Return a user by id, or by a name unique among the users the caller sees. Raises NotFound, ValidationError."""
    try:
        return find_user(view.access, user_id=uuid.UUID(name))
    except ValueError:
        rows, _ = list_users(view.access, name=name, limit=2)
    if not rows:
        raise NotFound(f"There is no user {name!r} that this key reaches.", detail={"field": "user_id"})
    if len(rows) > 1:
        raise ValidationError({"user_id": f"names several users: {', '.join(str(row.pk) for row in rows)}, …"})
    return rows[0]


def _tell_cube(cube: Cube) -> dict[str, Any]:
    return {
        "cube_id": str(cube.pk),
        "mem_cube_id": cube.namespace.name,
        "cube_name": cube.name,
        "owner_id": str(cube.owner_id) if cube.owner_id else None,
    }
