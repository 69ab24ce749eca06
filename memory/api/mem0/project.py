from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.fields import MetadataField, StrictBooleanField, StrictCharField
from memory.api.mem0.answers import Mem0DoneSerializer
from memory.api.mem0.base import NAMESPACE_PARAMETER, Mem0ViewSet
from memory.api.message_fields import MAX_TEXT_CHARS
from memory.api.route_tags import MEM0
from memory.enums import AccessScope
from memory.errors import NotFound
from memory.services.tenancy.mem0_project import change_project, read_project
from memory.types import Scope

MAX_CATEGORIES = 100
# Name of the project in `GET /v1/ping/` while the key has no namespace.
DEFAULT = "default"


@extend_schema_field({"oneOf": [{"type": "string", "maxLength": 200}, {"type": "object", "additionalProperties": {}}]})
class _CategoryField(serializers.Field):
    """A category: a name, or an object with name and description."""

    def to_internal_value(self, data: Any) -> Any:
        field = StrictCharField(max_length=200) if isinstance(data, str) else MetadataField()
        return field.run_validation(data)

    def to_representation(self, value: Any) -> Any:
        return value


class Mem0ProjectSettingsSerializer(serializers.Serializer):
    """Settings of a project. MemOS stores them for the client but does not act on them."""

    custom_instructions = StrictCharField(
        required=False, allow_null=True, allow_blank=True, max_length=MAX_TEXT_CHARS, trim_whitespace=False
    )
    agent_custom_instructions = StrictCharField(
        required=False, allow_null=True, allow_blank=True, max_length=MAX_TEXT_CHARS, trim_whitespace=False
    )
    custom_categories = serializers.ListField(
        child=_CategoryField(), required=False, allow_null=True, max_length=MAX_CATEGORIES
    )
    memory_depth = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=200)
    usecase_setting = StrictCharField(required=False, allow_null=True, allow_blank=True, max_length=2000)
    multilingual = StrictBooleanField(required=False, allow_null=True)
    decay = StrictBooleanField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(f"Give one of {', '.join(self.fields)}.")
        return attrs


class Mem0ProjectSerializer(Mem0ProjectSettingsSerializer):
    """A project. With `fields`, it has only those."""

    id = serializers.CharField(required=False)
    name = serializers.CharField(required=False, help_text="The namespace")


class _FieldsSerializer(serializers.Serializer):
    fields = serializers.ListField(  # type: ignore[assignment]
        child=StrictCharField(max_length=100), required=False, help_text="Only these"
    )


@extend_schema(tags=[MEM0.name], parameters=[NAMESPACE_PARAMETER])
class Mem0ProjectViewSet(Mem0ViewSet):
    """The key's namespace as a project of mem0's hosted API."""

    required_scope = {"retrieve": AccessScope.READ, "update": AccessScope.WRITE}

    @extend_schema(
        operation_id="mem0_get_project",
        summary="The settings of a project",
        parameters=[_FieldsSerializer],
        responses={200: Mem0ProjectSerializer},
    )
    def retrieve(self, request: Request, org_id: str, project_id: str) -> Response:
        scope = self.own_scope()
        self._check(scope, project_id)
        kept = dict.fromkeys(Mem0ProjectSettingsSerializer().fields) | (read_project(scope) if scope else {})
        told = {"id": project_id, "name": project_id, **kept}
        wanted = request.query_params.getlist("fields") or list(told)
        return Response({name: told[name] for name in wanted if name in told})

    @extend_schema(
        operation_id="mem0_update_project",
        summary="Change the settings of a project",
        request=Mem0ProjectSettingsSerializer,
        responses={200: Mem0DoneSerializer},
    )
    def update(self, request: Request, org_id: str, project_id: str) -> Response:
        wanted = self.valid(Mem0ProjectSettingsSerializer, request.data)
        scope = self.own_scope(create=True)
        assert scope is not None
        self._check(scope, project_id)
        change_project(scope, wanted=wanted, now=timezone.now())
        says = "Project updated. MemOS stores these settings and does not act on them: policies govern a namespace."
        return Response({"message": says})

    def _check(self, scope: Scope | None, project_id: str) -> None:
        """Raise NotFound unless the project is the key's own."""
        if project_id not in (scope.namespace if scope else DEFAULT, DEFAULT):
            raise NotFound(f"There is no project {project_id!r} that this key reaches.", detail={"field": "project_id"})
