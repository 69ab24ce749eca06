"""Resolves the cubes that a request of MemTensor's API names to namespaces."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from rest_framework.exceptions import ValidationError

from memory.api.memtensor.filters import hold_user
from memory.api.views.base import MemosViewSet
from memory.errors import NotFound
from memory.owners import Owners
from memory.retrieval.filters import Filter
from memory.services.cubes.find import find_cube
from memory.services.tenancy.namespaces import default_namespace
from memory.types import Access, Scope, session_of_day


@dataclass(frozen=True, slots=True)
class CubePlace:
    """A cube by its name in the request, with its scope."""

    cube_id: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class Reached:
    """The memories that a request is about. `names` are pairs of a cube's name in the request and its namespace.

    `where` is set if the request names no cube: then only memories of the request's user are meant.
    """

    names: Sequence[tuple[str, str]]
    user_id: str
    where: Filter | None = None

    @property
    def of_user(self) -> bool:
        return self.where is not None

    def name_session(self, session: str | None, moment: datetime, zone: tzinfo | None = None) -> str:
        """Return the session for a message at that moment. In a shared namespace each user has separate sessions."""
        if not self.of_user:
            return session or session_of_day(moment, zone)
        ids = {"user_id": self.user_id, **({"run_id": session} if session else {})}
        return Owners(ids).name_session(moment, zone)


class CubeNames:
    """A mixin for views that finds the cubes of a request by their ids or by the names of their namespaces."""

    def reach(self: MemosViewSet, cube_ids: Sequence[str], user_id: str) -> Reached:  # type: ignore[misc]
        """Return the memories that the request is about: cubes, or the user's memories in the key's own namespace.

        Raises NotFound for a cube that the key does not reach, and ValidationError if no cube is named and the key has
        several namespaces.
        """
        if cube_ids:
            return Reached([(one, _name_namespace(self.access, one)) for one in dict.fromkeys(cube_ids)], user_id)
        # The access before shares were added: a shared namespace does not count as the key's own.
        own = self.request.user
        assert isinstance(own, Access)
        name = default_namespace(own)
        if name is None:
            raise ValidationError(
                {"mem_cube_id": "is missing: this key reaches several namespaces. Name the cubes that are meant."}
            )
        return Reached([(name, name)], user_id, hold_user(user_id))

    def find_places(self: MemosViewSet, reached: Reached, *, create: bool = False) -> list[CubePlace]:  # type: ignore[misc]
        """Find the cubes, each namespace once. The key's own namespace is left out if it does not exist and `create` is
        off.

        Raises NotFound.
        """
        places: dict[int, CubePlace] = {}
        for cube_id, namespace in reached.names:
            scope = (
                self.scope_if_there(namespace)
                if reached.of_user and not create
                else self.scope(namespace, create=create)
            )
            if scope is not None:
                places.setdefault(scope.namespace_id, CubePlace(cube_id, scope))
        return list(places.values())


def _name_namespace(access: Access, cube_id: str) -> str:
    """Return the namespace of a cube that is named by its id or by its namespace. Raises NotFound."""
    try:
        identity = uuid.UUID(cube_id)
    except ValueError:
        return cube_id
    try:
        return find_cube(access, identity).namespace.name
    except NotFound:
        raise NotFound(f"There is no cube {cube_id} that this key reaches.", detail={"field": "mem_cube_id"}) from None
