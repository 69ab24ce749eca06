"""The queryset of all tenants' tables, which refuses to read or change rows until a namespace is named."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from django.db import models
from django.db.models.expressions import Col, ColPairs
from django.db.models.lookups import Exact, In, IsNull
from django.db.models.sql import Query
from django.db.models.sql.where import AND, NothingNode, WhereNode

from memory.types import Access, Scope

Row = TypeVar("Row", bound=models.Model)


class ScopeMissing(RuntimeError):
    """Raised for a query of tenants' rows that names no namespace, which is a bug and not a mistake of the caller."""


class ScopedQuery(Query):
    """Refuses to be compiled, unless its conditions name a namespace or it was declared to be across namespaces.

    It checks the conditions that the SQL is made of, however they were added. Subqueries are checked as well:
    `OuterRef("namespace_id")` refers to the namespace that the outer query names.
    """

    across_namespaces = False

    def require_scope(self) -> None:
        """Raises ScopeMissing if the query could read or change rows of any namespace."""
        if not self.across_namespaces and not self._names_namespace(self.where):
            name = self.get_meta().object_name
            raise ScopeMissing(
                f"This query of {name} names no namespace. Write {name}.objects.in_scope(scope), "
                f".reachable_by(access) or .filter(namespace_id=...); where it is meant to be about the rows of every "
                f"tenant, {name}.objects.across_namespaces()."
            )

    def get_compiler(self, *args: Any, **options: Any) -> Any:
        self.require_scope()
        return super().get_compiler(*args, **options)

    def chain(self, klass: type[Query] | None = None) -> Query:
        if klass is not None:  # Updates and deletes are queries of another class, which does not check this.
            self.require_scope()
        return super().chain(klass)

    def _names_namespace(self, condition: Any) -> bool:
        """Tells whether the condition limits rows to named namespaces, or to rows of no tenant."""
        if isinstance(condition, WhereNode):
            if condition.negated or not condition.children:
                return False
            each = map(self._names_namespace, condition.children)
            return any(each) if condition.connector == AND else all(each)
        if isinstance(condition, Exact | In) or (isinstance(condition, IsNull) and condition.rhs is True):
            return self._is_namespace(condition.lhs) and not self._is_own_column(condition.rhs)
        return isinstance(condition, NothingNode)

    def _is_namespace(self, compared: Any) -> bool:
        """Tells whether it is the rows' namespace id, a composite key with it, or a column of the namespace's row."""
        namespace = self.get_meta().get_field("namespace_id")
        if isinstance(compared, ColPairs):
            return namespace in compared.targets
        if not isinstance(compared, Col):
            return False
        joined_by = getattr(self.alias_map.get(compared.alias), "join_field", None)
        return compared.target is namespace or joined_by is namespace

    def _is_own_column(self, value: Any) -> bool:
        return isinstance(value, Col) and value.alias in self.alias_map


class ScopedQuerySet(models.QuerySet[Row]):
    """Selects rows of tenants. A query that names no namespace can be built, but raises ScopeMissing when evaluated."""

    query: ScopedQuery

    def __init__(
        self,
        model: type[Row] | None = None,
        query: Query | None = None,
        using: str | None = None,
        hints: dict[str, models.Model] | None = None,
    ) -> None:
        super().__init__(model, query or ScopedQuery(model), using, hints)

    def in_scope(self, scope: Scope) -> Self:
        """Selects the rows of the scope's namespace."""
        return self.filter(namespace_id=scope.namespace_id)

    def reachable_by(self, access: Access) -> Self:
        """Selects the rows of all namespaces that the caller may reach; by default none."""
        if access.all_namespaces:
            return self.across_namespaces()
        return self.filter(namespace_id__in=access.namespace_ids)

    def across_namespaces(self) -> Self:
        """Selects the rows of all tenants explicitly, for background work and callers who may reach all."""
        rows = self.all()
        rows.query.across_namespaces = True
        return rows

    def _raw_delete(self, using: str | None) -> int:
        self.query.require_scope()  # Django changes the query's class here, without `chain`.
        return super()._raw_delete(using)


class ScopedRow(models.Model):
    """Represents a row whose key is `id` for Django and (namespace_id, id) in the database.

    An update names both in its condition, and does not write the namespace, which never changes.
    """

    class Meta:
        abstract = True

    def _do_update(self, base_qs: Any, using: str | None, pk_val: Any, values: Any, *options: Any) -> Any:
        own = base_qs.filter(namespace_id=self.namespace_id)  # type: ignore[attr-defined]
        values = [value for value in values if value[0].attname != "namespace_id"]
        return super()._do_update(own, using, pk_val, values, *options)
