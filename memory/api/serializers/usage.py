from __future__ import annotations

from datetime import UTC, date, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from memory.enums import UsageGroup

DEFAULT_DAYS = 30


class UsageReadSerializer(serializers.Serializer):
    """Query parameters. Empty ones do not narrow the result."""

    to = serializers.DateField(required=False, help_text="Last UTC day; by default today")
    group = serializers.CharField(
        default="", allow_blank=True, max_length=100,
        help_text="One or more, by commas: " + ", ".join(UsageGroup.values),
    )  # fmt: skip
    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    format = serializers.ChoiceField(("json", "csv"), default="json", help_text="csv: every row, in one file")
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=100)
    cursor = serializers.CharField(
        default="", allow_blank=True, max_length=4000, help_text="`next_cursor` of the page before"
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add the field `from`, which is a keyword in Python."""
        first = serializers.DateField(
            required=False, help_text=f"First UTC day; by default {DEFAULT_DAYS - 1} days before `to`"
        )
        return {"from": first, **super().get_fields()}

    def validate_group(self, value: str) -> list[UsageGroup]:
        names = [name.strip() for name in value.split(",") if name.strip()]
        unknown = [name for name in names if name not in UsageGroup.values]
        if unknown:
            raise serializers.ValidationError(f"has {', '.join(unknown)}; there are {', '.join(UsageGroup.values)}.")
        return [UsageGroup(name) for name in dict.fromkeys(names)]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs.setdefault("to", timezone.now().astimezone(UTC).date())
        attrs.setdefault("from", attrs["to"] - min(timedelta(days=DEFAULT_DAYS - 1), attrs["to"] - date.min))
        if attrs["from"] > attrs["to"]:
            raise serializers.ValidationError({"from": "is later than `to`."})
        return attrs


class UsageTotalSerializer(serializers.Serializer):
    """Calls of models, summed by the requested groups; other groups are absent. null: without a key or namespace."""

    day = serializers.DateField(required=False)
    key = serializers.CharField(required=False, allow_null=True, help_text="`key:` and its prefix")
    namespace = serializers.CharField(required=False, allow_null=True)
    purpose = serializers.CharField(required=False)
    model = serializers.CharField(required=False, help_text="`provider/model`")
    calls = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Calls that brought nothing")
    unpriced = serializers.IntegerField(help_text="Calls without a known price; no cost holds them")
    prompt_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField(help_text="Of the prompts")
    cached_share = serializers.FloatField(help_text="Of the prompts, 0 to 1")
    completion_tokens = serializers.IntegerField()
    cost_usd = serializers.FloatField(help_text="US dollars, as far as prices are known")


class UsageListSerializer(serializers.Serializer):
    usage = UsageTotalSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)
