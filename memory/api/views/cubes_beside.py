"""Cubes that a question names beside its namespace: its own, and those that are shared with whose key it is."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from rest_framework.request import Request

from memory.api.serializers.query import MAX_CUBES
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.errors import Forbidden
from memory.postgresql import reach
from memory.services.cubes.find import find_cubes, scope_of
from memory.types import Access, Scope


def count_cubes(request: Request) -> int:
    """As how many requests one that names `cubes` counts: each is searched."""
    cubes = request.data.get("cubes") if isinstance(request.data, Mapping) else None
    return min(MAX_CUBES, max(1, len(cubes))) if isinstance(cubes, list) else 1


class CubesBeside(MemosViewSet):
    """A view whose questions may span cubes; what they write goes into their own namespace alone."""

    def find_beside(self, cube_ids: Sequence[uuid.UUID], *, home: str) -> list[Scope]:
        """The cubes that are searched beside the namespace `home`, in which the question is asked.

        Shares are looked up with each request. Call it before the namespace is named: it needs the reach of the key,
        which is the namespace alone from then on. So what models cost is put down to it, and nothing else is written
        to. Raises NotFound for a cube that the key may not read.
        """
        if not cube_ids:
            return []
        own = self.request.user
        assert isinstance(own, Access)
        if not own.may(AccessScope.READ):
            raise Forbidden("To search cubes, the key needs the scope 'read' too.")
        reader = own.reach_shares(AccessScope.READ)
        reach.allow(reader)
        scopes = [scope_of(reader, cube, request_id=self.request_id) for cube in find_cubes(reader, cube_ids)]
        return [scope for scope in scopes if scope.namespace != home]
