from __future__ import annotations

import re
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.preconditions import ETAG
from memory.api.schema import IF_MATCH
from memory.api.serializers.policy import (
    ExemptedSerializer,
    ExemptionSerializer,
    PolicyPreviewedSerializer,
    PolicyPreviewSerializer,
    PolicyPutSerializer,
    PolicyReadSerializer,
    PolicySerializer,
)
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope
from memory.governance.policy import nest
from memory.policy_values import BY_KEY, SETTING
from memory.services.retention.exemptions import UNCHANGED, exempt
from memory.services.retention.policy_preview import preview
from memory.services.tenancy import policy
from memory.services.tenancy.policy import Governing

_ETAG = re.compile(r'(?:W/)?"(\d{1,9})"')


class PolicyViewSet(MemosViewSet):
    """The policy of a namespace."""

    required_scope = {
        "retrieve": AccessScope.READ,
        "update": AccessScope.ADMIN,
        "preview": AccessScope.READ,
        "exempt": AccessScope.ADMIN,
    }

    @extend_schema(
        operation_id="get_policy",
        summary="The policy in force, and where each value comes from",
        parameters=[PolicyReadSerializer, ETAG],
        responses={200: PolicySerializer},
    )
    def retrieve(self, request: Request) -> Response:
        values = self.valid(PolicyReadSerializer, request.query_params)
        scope = self.scope(values["namespace"], create=False)
        if values["version"] is None:
            return _answer(values["namespace"], policy.governing(scope.namespace_id))
        return _answer(values["namespace"], policy.version_of(scope, version=values["version"]))

    @extend_schema(
        operation_id="put_policy",
        summary="Set the namespace's own policy",
        request=PolicyPutSerializer,
        responses={200: PolicySerializer},
        parameters=[IF_MATCH, ETAG],
    )
    def update(self, request: Request) -> Response:
        values = self.valid(PolicyPutSerializer, request.data)
        expected = _read_if_match(request)
        policy.check_overrides(values["policy"])
        after = policy.put_policy(
            self.scope(values["namespace"]),
            wanted=values["policy"],
            reason=values["reason"],
            expected=expected,
            now=timezone.now(),
        )
        return _answer(values["namespace"], after)

    @extend_schema(
        operation_id="preview_policy",
        summary="What a change would archive and delete now; nothing is written",
        request=PolicyPreviewSerializer,
        responses={200: PolicyPreviewedSerializer},
    )
    def preview(self, request: Request) -> Response:
        values = self.valid(PolicyPreviewSerializer, request.data)
        scope = self.scope(values["namespace"], create=False)
        return Response(preview(scope, wanted=values["policy"], now=timezone.now()))

    @extend_schema(
        operation_id="exempt_from_policy",
        summary="Put memories under a legal hold, or set when they expire",
        request=ExemptionSerializer,
        responses={200: ExemptedSerializer},
    )
    def exempt(self, request: Request) -> Response:
        values = self.valid(ExemptionSerializer, request.data)
        changed = exempt(
            self.scope(values["namespace"], create=False),
            memory_ids=values["memory_ids"],
            legal_hold=values.get("legal_hold"),
            expires_at=values.get("expires_at", UNCHANGED),
            reason=values["reason"],
            now=timezone.now(),
        )
        return Response({"changed": changed})


def _read_if_match(request: Request) -> int | None:
    """Return the version in If-Match. Raises ValidationError."""
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    found = _ETAG.fullmatch(header.strip())
    if found is None:
        raise ValidationError({"If-Match": 'must be the ETag of GET /v1/policy, such as "3".'})
    return int(found[1])


def _answer(namespace: str, found: Governing) -> Response:
    effective = found.effective
    body: dict[str, Any] = {
        "namespace": namespace,
        "version": found.version,
        "policy": nest(effective.values),
        "overrides": nest(found.overrides),
        "values": [
            {
                "key": key,
                "value": effective.values[key],
                "origin": effective.origins[key].value,
                "default": knob.default,
                "setting": SETTING,
                "unit": knob.unit,
                "range": knob.range,
                "help": knob.help,
            }
            for key, knob in BY_KEY.items()
        ],
        "problems": dict(found.problems),
        "reason": found.reason,
        "updated_by": found.updated_by,
        "updated_at": found.updated_at.isoformat() if found.updated_at else None,
    }
    return Response(body, headers={"ETag": f'"{found.version}"'})
