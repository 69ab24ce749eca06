"""Finds the cubes that a question names besides its namespace: the key's own, and those shared with its owner."""

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
    """Return how many requests this one counts for in rate limits, because each cube is searched."""
    cubes = request.data.get("cubes") if isinstance(request.data, Mapping) else None
    return min(MAX_CUBES, max(1, len(cubes))) if isinstance(cubes, list) else 1


class CubesBeside(MemosViewSet):
    """The base of views whose questions may span cubes. They write only to the question's own namespace."""

    def find_beside(self, cube_ids: Sequence[uuid.UUID], *, home: str) -> list[Scope]:
        """Return the scopes of the cubes to search in addition to the namespace `home`, in which the question is asked.

        Call this before `scope`, which narrows the request's reach to the namespace. Model usage is then attributed to
        that namespace, and nothing else can be written to. Shares are read with each request. Raises NotFound for a
        cube that the key may not read.
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
