from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.fields import MomentField, StrictBooleanField, StrictCharField
from memory.enums import MemoryKind, PolicyOrigin, SweepRule
from memory.policy_values import KNOBS, Knob

MAX_EXEMPTED = 1000


def _schema_of(knob: Knob) -> dict[str, Any]:
    described = {"description": f"{knob.help}{f' In {knob.unit}.' if knob.unit else ''}"}
    if isinstance(knob.default, bool):
        return {**described, "type": "boolean"}
    if knob.choices:
        return {**described, "type": "string", "enum": list(knob.choices)}
    if knob.is_zone:
        return {**described, "type": "string", "maxLength": 100}
    if knob.is_model:
        return {**described, "type": "string", "maxLength": 240}
    kind = "number" if knob.fractional else "integer"
    return {**described, "type": kind, "minimum": knob.minimum, "maximum": knob.maximum}


def _policy_schema() -> dict[str, Any]:
    """Return the JSON schema of a policy's nested values, all of which are optional."""
    root: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    for knob in KNOBS:
        *path, last = knob.key.split(".")
        place = root
        for name in path:
            place = place["properties"].setdefault(
                name, {"type": "object", "properties": {}, "additionalProperties": False}
            )
        place["properties"][last] = _schema_of(knob)
    return root


@extend_schema_field(_policy_schema())
class PolicyField(serializers.Field):
    """The nested values of a policy. The service validates them."""

    default_error_messages = {"invalid": "must be an object.", "required": "is missing."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        return dict(data)

    def to_representation(self, value: Any) -> Any:
        return value


class PolicyReadSerializer(serializers.Serializer):
    """Query parameters of a policy."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    version = serializers.IntegerField(
        required=False,
        default=None,
        min_value=0,
        max_value=2**31 - 1,
        help_text="A former version; left out, the newest",
    )


class PolicyPutSerializer(serializers.Serializer):
    """All values that the namespace sets itself. Those left out fall back to the environment or the default."""

    namespace = StrictCharField(min_length=1, max_length=128)
    policy = PolicyField()
    reason = StrictCharField(
        required=False, allow_blank=True, max_length=300, default="", help_text="Kept with the change"
    )


class PolicyPreviewSerializer(serializers.Serializer):
    """A change of the policy to try out. Nothing is stored."""

    namespace = StrictCharField(min_length=1, max_length=128)
    policy = PolicyField()


@extend_schema_field({"type": ["boolean", "number", "string"]})
class PolicyScalarField(serializers.Field):
    """A value of the policy in force."""

    def to_representation(self, value: Any) -> Any:
        return value


class PolicyValueSerializer(serializers.Serializer):
    key = serializers.CharField()
    value = PolicyScalarField()
    origin = serializers.ChoiceField(PolicyOrigin.choices)
    default = PolicyScalarField()
    setting = serializers.CharField(
        help_text="The environment variable that sets it for every namespace: `MEMOS_POLICY`, as `key=value`"
    )
    unit = serializers.CharField(allow_blank=True)
    range = serializers.CharField()
    help = serializers.CharField()


class PolicySerializer(serializers.Serializer):
    namespace = serializers.CharField()
    version = serializers.IntegerField(help_text="0: the namespace sets nothing itself; the ETag is this number")
    policy = PolicyField(help_text="The values in force")
    overrides = PolicyField(help_text="Those of them that the namespace sets itself")
    values = PolicyValueSerializer(many=True, help_text="Each value with its origin, unit and range")
    problems = serializers.DictField(
        child=serializers.CharField(), help_text="Values that contradict each other since the environment changed"
    )
    reason = serializers.CharField(allow_blank=True)
    updated_by = serializers.CharField(allow_blank=True)
    updated_at = serializers.DateTimeField(allow_null=True)


class PolicyEffectSerializer(serializers.Serializer):
    archive = serializers.IntegerField(help_text="Memories: decayed and expired together")
    decayed = serializers.IntegerField()
    expired = serializers.IntegerField()
    packs = serializers.IntegerField(help_text="Context packs that would be deleted")
    evaluations = serializers.IntegerField(help_text="Evaluations that would be deleted")
    quarantined = serializers.IntegerField(help_text="Quarantined texts that would be deleted")


class StrengthSerializer(serializers.Serializer):
    value = serializers.FloatField(help_text="importance × decay × use, at most 1")
    importance = serializers.FloatField()
    decay = serializers.FloatField(help_text="What age leaves: 1 when new, ½ after a half-life")
    use = serializers.FloatField(help_text="1 when never used, at most 2")
    age_days = serializers.FloatField(help_text="Since it was written, used or restored last")
    half_life_days = serializers.FloatField()


class DueMemorySerializer(serializers.Serializer):
    memory_id = serializers.UUIDField()
    rule = serializers.ChoiceField(SweepRule.choices)
    reason = serializers.CharField()
    kind = serializers.ChoiceField(MemoryKind.choices)
    strength = StrengthSerializer()


class PolicyPreviewedSerializer(serializers.Serializer):
    namespace = serializers.CharField()
    policy = PolicyField(help_text="The values that would be in force")
    active_memories = serializers.IntegerField()
    would = PolicyEffectSerializer(help_text="What the next sweep would do with the change")
    without_change = PolicyEffectSerializer(help_text="What it will do as things are")
    memories = DueMemorySerializer(many=True, help_text="The first 50 that would be archived, by id")


class ExemptionSerializer(serializers.Serializer):
    """Memories to exempt from the policy by a legal hold, an expiry date, or both."""

    namespace = StrictCharField(min_length=1, max_length=128)
    memory_ids = serializers.ListField(
        child=serializers.UUIDField(),
        min_length=1,
        max_length=MAX_EXEMPTED,
        error_messages={
            "not_a_list": "must be a list.",
            "required": "is missing.",
            "empty": "must not be empty.",
            "max_length": "has more than {max_length} items.",
            "min_length": "must not be empty.",
        },
    )
    legal_hold = StrictBooleanField(
        required=False, help_text="true: the sweep leaves them alone, whatever the policy says; false: no longer"
    )
    expires_at = MomentField(
        required=False, allow_null=True, help_text="When they expire, in place of ttl_days; null: as the policy says"
    )
    reason = StrictCharField(min_length=1, max_length=300)


class ExemptedSerializer(serializers.Serializer):
    changed = serializers.IntegerField(help_text="Those that were as wanted already do not count")
