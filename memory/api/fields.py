"""Serializer fields that accept only the JSON type they name, without conversions, and refuse others in a sentence."""

from __future__ import annotations

import uuid
from datetime import tzinfo
from typing import Any

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from memory.enums import Degradation
from memory.retrieval.filters import Filter, FilterError, parse
from memory.text.json_values import fault_of
from memory.text.zones import problem_of_zone, read_zone

MAX_METADATA_BYTES = 65_536
MAX_METADATA_DEPTH = 16


class SurrogateValidator(ProhibitSurrogateCharactersValidator):
    """Refuses lone surrogates as DRF's validator does, but looks at single characters only if the text has one."""

    def __call__(self, value: Any) -> None:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            super().__call__(value)


class StrictCharField(serializers.CharField):
    """A JSON string without NUL characters. Numbers are refused, and white space is kept."""

    default_error_messages = {
        "invalid": "must be a string.",
        "required": "is missing.",
        "null": "must not be null.",
        "blank": "must not be empty.",
        "max_length": "has more than {max_length} characters.",
    }

    def __init__(self, **options: Any) -> None:
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)
        self.validators = [
            SurrogateValidator() if isinstance(one, ProhibitSurrogateCharactersValidator) else one
            for one in self.validators
        ]

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictIntegerField(serializers.IntegerField):
    """A JSON number without a fraction: 6 or 6.0, but not "6"."""

    default_error_messages = {
        "invalid": "must be a whole number.",
        "max_value": "must be {max_value} or less.",
        "min_value": "must be {min_value} or more.",
    }

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


@extend_schema_field({"type": "integer"})
class ClampedIntegerField(serializers.IntegerField):
    """A whole number. Values outside the limits are set to the nearest limit."""

    def __init__(self, least: int, most: int, **options: Any) -> None:
        self._least, self._most = least, most
        super().__init__(help_text=f"{least}..{most}; what is beyond counts as the limit", **options)

    def to_internal_value(self, data: Any) -> int:
        return min(self._most, max(self._least, super().to_internal_value(data)))


class StrictUUIDField(serializers.UUIDField):
    """A UUID as a JSON string. Numbers are refused."""

    default_error_messages = {"invalid": "must be a UUID."}

    def to_internal_value(self, data: Any) -> uuid.UUID:
        if not isinstance(data, str | uuid.UUID):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class StrictNumberField(serializers.FloatField):
    """A JSON number."""

    default_error_messages = {
        "invalid": "must be a number.",
        "max_value": "must be {max_value} or less.",
        "min_value": "must be {min_value} or more.",
    }

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictBooleanField(serializers.BooleanField):
    """The JSON value true or false, but not "yes" or 1."""

    default_error_messages = {"invalid": "must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class MomentField(serializers.DateTimeField):
    """An ISO 8601 date and time, in UTC unless it has an offset."""

    default_error_messages = {"invalid": "must be an ISO 8601 date and time such as 2026-05-08T13:56:00Z."}

    def to_internal_value(self, value: Any) -> Any:
        if not isinstance(value, str) or "\0" in value:
            self.fail("invalid")
        return super().to_internal_value(value)


@extend_schema_field({"type": "string", "maxLength": 100, "nullable": True})
class ZoneField(serializers.Field):
    """The IANA name of a time zone, read as that zone."""

    def __init__(self, **options: Any) -> None:
        help_text = (
            "In which days begin (IANA name): for words like yesterday, the dates of the answer and the session of the "
            "day; left out: the zone of the key's user, else the policy's `timezone`"
        )
        super().__init__(**{"required": False, "allow_null": True, "default": None, "help_text": help_text, **options})

    def to_internal_value(self, data: Any) -> tzinfo:
        if problem := problem_of_zone(data):
            raise serializers.ValidationError(problem)
        return read_zone(data)

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"type": "object", "additionalProperties": True, "default": {}})
class MetadataField(serializers.Field):
    """A JSON object of at most `max_bytes` and MAX_METADATA_DEPTH levels, without the keys in `reserved`."""

    default_error_messages = {
        "invalid": "must be an object.",
        "too_large": "has more than {max_bytes} bytes as JSON.",
        "reserved": "must not hold {name!r}: MemOS itself says something under that name.",
    }

    def __init__(self, *, max_bytes: int = MAX_METADATA_BYTES, reserved: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(**options)
        self._max_bytes = max_bytes
        self._reserved = reserved

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        if not data:
            return {}
        if fault := fault_of(data, most_levels=MAX_METADATA_DEPTH):
            raise serializers.ValidationError({fault.place: fault.problem} if fault.place else fault.problem)
        if len(orjson.dumps(data)) > self._max_bytes:
            self.fail("too_large", max_bytes=self._max_bytes)
        for name in self._reserved:
            if name in data:
                self.fail("reserved", name=name)
        return dict(data)

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"$ref": "#/components/schemas/Filter"})
class FilterField(serializers.Field):
    """A filter (memory.retrieval.filters), parsed. It is None if the filter matches every memory."""

    def to_internal_value(self, data: Any) -> Filter | None:
        try:
            return parse(data)
        except FilterError as error:
            raise serializers.ValidationError({error.place: error.problem} if error.place else error.problem) from error

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"type": "string"})
class JsonFilterField(FilterField):
    """A filter in a query string, written as JSON."""

    def to_internal_value(self, data: Any) -> Filter | None:
        try:
            return super().to_internal_value(orjson.loads(data))
        except orjson.JSONDecodeError as error:
            raise serializers.ValidationError("must be a filter as JSON.") from error


class DegradedField(serializers.ListField):
    """The degradations of an answer."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("help_text", "What did not work fully")
        super().__init__(child=serializers.ChoiceField(Degradation.choices), **options)


def takes_default_namespace(serializer: serializers.BaseSerializer) -> bool:
    """Return whether a request without `namespace` gets its key's default namespace.

    A serializer with `names_new_namespace` creates something for which the namespace has to be named.
    """
    if not isinstance(serializer, serializers.Serializer) or getattr(serializer, "names_new_namespace", False):
        return False
    field = serializer.fields.get("namespace")
    return field is not None and field.required and not field.read_only
