"""What every view of a tenant's data shares."""

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
    """A serializer of each class for each thread: a new one for each request would copy all its fields, and one for all
    threads is more than Django REST framework promises to bear."""

    def __init__(self) -> None:
        self._made: dict[type[serializers.Serializer], serializers.Serializer] = {}

    def of(self, serializer_class: type[serializers.Serializer]) -> serializers.Serializer:
        """This thread's instance. It keeps nothing of what it has validated."""
        if serializer_class not in self._made:
            self._made[serializer_class] = serializer_class()
        return self._made[serializer_class]


_validators = _Validators()


class MemosViewSet(ViewSet):
    """Validates, resolves the caller's scope, calls one service. `required_scope` names what the key must have.

    `shared_actions` reach what is shared with the caller in addition to what its key reaches; others do not. A share
    must be for what the key needs, or for `share_scope`. `tells_stored`: actions that write, and answer what is stored:
    the key needs the scope to read as well. `takes_unknown_fields`: the view speaks the API of others, whose clients
    send more than it reads; elsewhere a field that nothing reads is refused.
    """

    request: Request
    takes_unknown_fields = False
    shared_actions: frozenset[str] = frozenset()
    share_scope: AccessScope | None = None
    tells_stored: frozenset[str] = frozenset()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Those that this request has named; there is a view for each.
        self._namespace_ids: set[int] = set()
        self._access: Access | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answers within MEMOS_REQUEST_SECONDS (`memory.deadline`)."""
        kwargs = {name: compose_name(value) if isinstance(value, str) else value for name, value in kwargs.items()}
        with within(settings.MEMOS_REQUEST_SECONDS):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Lets the action reach what is shared with the caller, where it may, once it is known who that is."""
        super().initial(request, *args, **kwargs)
        needed = scope_needed(self)
        if self.action in self.shared_actions and needed is not None:
            self._access = self.access.reach_shares(self.share_scope or needed)
            reach.allow(self._access)
        refuse_wrong_ids(kwargs)
        if not self.takes_unknown_fields:
            self._refuse_unknown(request)

    def _refuse_unknown(self, request: Request) -> None:
        """Raises ValidationError for parameters of the query that the route does not read, and a body that it does not.

        What a body holds is judged with it, in `valid`.
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
        """Adds to `degraded` what the models that were called have to say: a soft budget that is reached."""
        warnings = caller.current().warnings
        data = getattr(response, "data", None)
        if warnings and isinstance(data, dict) and isinstance(data.get("degraded"), list):
            data["degraded"] = [*data["degraded"], *warnings]
        answer = super().finalize_response(request, response, *args, **kwargs)
        if not isinstance(answer, Response) and not answer.streaming:
            # As REST framework's own answers have it, for `untie`.
            answer.renderer_context = self.get_renderer_context()
        return answer

    @property
    def access(self) -> Access:
        """The authenticated caller."""
        access = self._access or self.request.user
        assert isinstance(access, Access)
        return access

    @property
    def request_id(self) -> str:
        """Names the request in the log and in audit events."""
        return str(getattr(self.request._request, "request_id", ""))

    def valid(self, serializer_class: type[serializers.Serializer], data: Any) -> dict[str, Any]:
        """Returns the validated values, with names in one Unicode form. Raises ValidationError, which answers 400 with
        every field that is wrong."""
        # A query string's empty value would count as absent; as a plain mapping it is judged like any other.
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
        """Adds the key's default namespace to a request that names none."""
        if not isinstance(data, Mapping) or "namespace" in data or (name := default_namespace(self.access)) is None:
            return data
        return {**data, "namespace": name}

    def scope(self, namespace: str, *, create: bool = True) -> Scope:
        """The caller's scope in `namespace`, which `create` may make. Raises NotFound."""
        return self._note_namespace(scope_for(self.access, name=namespace, request_id=self.request_id, create=create))

    def scope_if_there(self, namespace: str) -> Scope | None:
        """The caller's scope in `namespace`; None when it is not there and the caller reaches all. Raises NotFound."""
        scope = existing_scope(self.access, name=namespace, request_id=self.request_id)
        return self._note_namespace(scope) if scope else None

    def now_in(self, namespace: str | None, asked: tzinfo | None = None) -> datetime:
        """Returns the present in the zone of the request: the one it asks for, its user's or the namespace's."""
        there = existing_scope(self.access, name=namespace) if namespace else None
        zone = find_zone(there.namespace_id if there else None, user_id=self.access.user_id, asked=asked)
        return timezone.now().astimezone(zone)

    def _note_namespace(self, scope: Scope) -> Scope:
        self._namespace_ids.add(scope.namespace_id)
        reach.narrow(self._namespace_ids)
        # For the figures of requests; a batch for several namespaces is none's.
        only = scope.namespace_id if len(self._namespace_ids) == 1 else 0
        self.request._request.namespace_id = only  # type: ignore[attr-defined]
        return scope

    def idempotency(self) -> Idempotency | None:
        """The client's Idempotency-Key with the hash of what it sent. Raises ValidationError."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        if not 1 <= len(key) <= MAX_IDEMPOTENCY_KEY or not all("!" <= character <= "~" for character in key):
            problem = f"must be 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters without spaces."
            raise ValidationError({"Idempotency-Key": problem})
        return Idempotency(self.access.actor, key, self.hash_body())

    def hash_body(self) -> str:
        """Of what the client sent, and where to."""
        data = self.request.data
        if isinstance(data, MultiValueDict):
            data = {name: [_name_value(value) for value in data.getlist(name)] for name in data}
        body = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(self.request.path.encode() + b"\0" + body).hexdigest()


def _list_fields(body: bytes) -> list[str]:
    """The names in a JSON object that a route was sent which reads no body; of anything else none."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return []
    return list(data) if isinstance(data, dict) else []


def _name_value(value: Any) -> Any:
    """A field of a form; of a file its name and the hash of its bytes."""
    if not isinstance(value, UploadedFile):
        return value
    digest = hashlib.sha256()
    for chunk in value.chunks():
        digest.update(chunk)
    value.seek(0)
    return {"file": value.name, "sha256": digest.hexdigest()}
