"""The queryset that every tenant's table shares."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models

from memory.types import Access, Scope

Row = TypeVar("Row", bound=models.Model)


class ScopedQuerySet(models.QuerySet[Row]):
    """Rows that belong to a namespace."""

    def in_scope(self, scope: Scope) -> Self:
        """The rows of the scope's own namespace."""
        return self.filter(namespace_id=scope.namespace_id)

    def reachable_by(self, access: Access) -> Self:
        """The rows of every namespace that the caller may reach; none by default."""
        if access.all_namespaces:
            return self
        return self.filter(namespace_id__in=access.namespace_ids)
