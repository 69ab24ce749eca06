"""The envelope `{code, message, data}` of every answer in MemTensor's API. Errors add the `error` of MemOS."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpResponse
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.response import Response

from memory.api.errors import exception_handler
from memory.api.serializers.errors import ErrorSerializer

OK = 200


class MemTensorErrorSerializer(ErrorSerializer):
    """The error shape of these routes: MemTensor's fields, and the fields that every error of MemOS has."""

    code = serializers.IntegerField(required=False, help_text="The HTTP status")
    message = serializers.CharField(required=False, help_text="As in `error`")
    data = serializers.JSONField(required=False, help_text="Always null")  # type: ignore[assignment]


def envelop(data: Any, message: str, notice: str = "") -> Response:
    """Return a successful answer. Clients compare some messages with constants, so further remarks go into `notice`."""
    return Response({"code": OK, "message": message, "data": data, **({"notice": notice} if notice else {})})


def describe_envelope(name: str, data: serializers.Field) -> serializers.Serializer:
    """Describe the shape of an answer whose `data` is this field."""
    return inline_serializer(
        f"MemTensor{name}",
        {
            "code": serializers.IntegerField(help_text="The HTTP status"),
            "message": serializers.CharField(help_text="What became of the request, in a sentence or two"),
            "data": data,
            "notice": serializers.CharField(
                required=False, help_text="What the gate kept out, and what of the request was not done"
            ),
        },
    )


def answer_error(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Answer an error in the envelope, as DRF's hook."""
    answered = exception_handler(error, context)
    if answered is not None:
        answered.content = orjson.dumps(wrap_error(orjson.loads(answered.content), answered.status_code))
    return answered


def wrap_error(body: dict[str, Any], status: int) -> dict[str, Any]:
    """Add the fields that MemTensor's clients look for to an error."""
    return {"code": status, "message": body["error"]["message"], "data": None, **body}
