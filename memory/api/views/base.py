"""The base of all views on a tenant's data."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

import orjson
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from memory import caller
from memory.api.composed_names import compose_names
from memory.api.fields import takes_default_namespace
from memory.api.known_fields import find_unknown, list_known_fields
from memory.api.path_ids import refuse_wrong_ids
from memory.api.permissions import scope_needed
from memory.deadline import within
from memory.enums import AccessScope
from memory.postgresql import reach
from memory.services.tenancy.namespaces import default_namespace, existing_scope, scope_for
from memory.services.tenancy.zones import find_zone
from memory.types import Access, Idempotency, Scope, compose_name

MAX_IDEMPOTENCY_KEY = 200


class _Validators(threading.local):
    """Holds an instance of each serializer class for each thread.

    A new instance for each request would copy all its fields, and Django REST framework does not promise that one can
    be shared by threads.
    """

    def __init__(self) -> None:
        self._made: dict[type[serializers.Serializer], serializers.Serializer] = {}

    def of(self, serializer_class: type[serializers.Serializer]) -> serializers.Serializer:
        """Return this thread's instance. It keeps no state between validations."""
        if serializer_class not in self._made:
            self._made[serializer_class] = serializer_class()
        return self._made[serializer_class]


_validators = _Validators()


class MemosViewSet(ViewSet):
    """Validates a request, resolves the caller's scope, and calls one service. `required_scope` is the scope a key
    needs.

    `shared_actions` also reach cubes that are shared with the caller. The share must allow the scope that the key
    needs, or `share_scope`. Actions in `tells_stored` write and return stored content, so the key needs the scope to
    read as well. `takes_unknown_fields` is for views that speak another product's API, whose clients send more than is
    read; elsewhere unknown fields are refused.
    """

    request: Request
    takes_unknown_fields = False
    shared_actions: frozenset[str] = frozenset()
    share_scope: AccessScope | None = None
    tells_stored: frozenset[str] = frozenset()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # The namespaces that this request has named; each request has its own view.
        self._namespace_ids: set[int] = set()
        self._access: Access | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer within MEMOS_REQUEST_SECONDS (`memory.deadline`)."""
        kwargs = {name: compose_name(value) if isinstance(value, str) else value for name, value in kwargs.items()}
        with within(settings.MEMOS_REQUEST_SECONDS):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Let actions in `shared_actions` reach the caller's shares, once the caller is authenticated."""
        super().initial(request, *args, **kwargs)
        needed = scope_needed(self)
        if self.action in self.shared_actions and needed is not None:
            self._access = self.access.reach_shares(self.share_scope or needed)
            reach.allow(self._access)
        refuse_wrong_ids(kwargs)
        if not self.takes_unknown_fields:
            self._refuse_unknown(request)

    def _refuse_unknown(self, request: Request) -> None:
        """Raise ValidationError for query parameters that the route does not know, or for a body if it reads none.

        Fields of a body are checked in `valid`.
        """
        http = request._request
        has_body = bool(int(http.META.get("CONTENT_LENGTH") or 0)) and http.content_type == "application/json"
        if not (http.GET or has_body) or (known := list_known_fields(http)) is None:
            return
        unknown = known.find_unknown_parameters(http.GET)
        if has_body and known.body is None:
            unknown |= known.find_unread_fields(_list_fields(http.body))
        if unknown:
            raise ValidationError(unknown)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Add the warnings of the models that were called, such as a soft budget that is used up, to `degraded`."""
        warnings = caller.current().warnings
        data = getattr(response, "data", None)
        if warnings and isinstance(data, dict) and isinstance(data.get("degraded"), list):
            data["degraded"] = [*data["degraded"], *warnings]
        answer = super().finalize_response(request, response, *args, **kwargs)
        if not isinstance(answer, Response) and not answer.streaming:
            # REST framework sets this on its own responses, and `untie` needs it.
            answer.renderer_context = self.get_renderer_context()
        return answer

    @property
    def access(self) -> Access:
        """Return the authenticated caller."""
        access = self._access or self.request.user
        assert isinstance(access, Access)
        return access

    @property
    def request_id(self) -> str:
        """Return the id of the request in the log and in audit events."""
        return str(getattr(self.request._request, "request_id", ""))

    def valid(self, serializer_class: type[serializers.Serializer], data: Any) -> dict[str, Any]:
        """Return the validated values, with names in NFC. Raises ValidationError with every field that is wrong."""
        # An empty value would count as absent in a QueryDict; in a plain mapping it is validated.
        plain = data.dict() if isinstance(data, QueryDict) else data
        serializer = _validators.of(serializer_class)
        if takes_default_namespace(serializer):
            plain = self.add_namespace(plain)
        unknown = {} if self.takes_unknown_fields else find_unknown(serializer, plain)
        try:
            values = dict(serializer.run_validation(compose_names(plain)))
        except ValidationError as error:
            if not unknown or not isinstance(error.detail, dict):
                raise
            raise ValidationError({**unknown, **error.detail}) from error
        if unknown:
            raise ValidationError(unknown)
        return values

    def add_namespace(self, data: Any) -> Any:
        """Add the key's default namespace to a request that names none."""
        if not isinstance(data, Mapping) or "namespace" in data or (name := default_namespace(self.access)) is None:
            return data
        return {**data, "namespace": name}

    def scope(self, namespace: str, *, create: bool = True) -> Scope:
        """Return the caller's scope in `namespace`, which is made with `create` if it is missing. Raises NotFound."""
        return self._note_namespace(scope_for(self.access, name=namespace, request_id=self.request_id, create=create))

    def scope_if_there(self, namespace: str) -> Scope | None:
        """Return the caller's scope in `namespace`. Raises NotFound.

        It is None if the namespace does not exist and the caller reaches all namespaces.
        """
        scope = existing_scope(self.access, name=namespace, request_id=self.request_id)
        return self._note_namespace(scope) if scope else None

    def now_in(self, namespace: str | None, asked: tzinfo | None = None) -> datetime:
        """Return the current time in the zone that was asked for, else in that of the user or the namespace."""
        there = existing_scope(self.access, name=namespace) if namespace else None
        zone = find_zone(there.namespace_id if there else None, user_id=self.access.user_id, asked=asked)
        return timezone.now().astimezone(zone)

    def _note_namespace(self, scope: Scope) -> Scope:
        self._namespace_ids.add(scope.namespace_id)
        reach.narrow(self._namespace_ids)
        # Request metrics use this; a batch for several namespaces is attributed to none.
        only = scope.namespace_id if len(self._namespace_ids) == 1 else 0
        self.request._request.namespace_id = only  # type: ignore[attr-defined]
        return scope

    def idempotency(self) -> Idempotency | None:
        """Return the client's Idempotency-Key with the hash of the request. Raises ValidationError."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        if not 1 <= len(key) <= MAX_IDEMPOTENCY_KEY or not all("!" <= character <= "~" for character in key):
            problem = f"must be 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters without spaces."
            raise ValidationError({"Idempotency-Key": problem})
        return Idempotency(self.access.actor, key, self.hash_body())

    def hash_body(self) -> str:
        """Return the hash of the request's path and body."""
        data = self.request.data
        if isinstance(data, MultiValueDict):
            data = {name: [_name_value(value) for value in data.getlist(name)] for name in data}
        body = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(self.request.path.encode() + b"\0" + body).hexdigest()


def _list_fields(body: bytes) -> list[str]:
    """List the names in the JSON object of a body that the route does not read. Other bodies have none."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return []
    return list(data) if isinstance(data, dict) else []


def _name_value(value: Any) -> Any:
    """Return a field of a form. For a file it is the name and the hash of its bytes."""
    if not isinstance(value, UploadedFile):
        return value
    digest = hashlib.sha256()
    for chunk in value.chunks():
        digest.update(chunk)
    value.seek(0)
    return {"file": value.name, "sha256": digest.hexdigest()}
