from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictBooleanField, StrictCharField, StrictIntegerField
from memory.enums import TEST_EVENT, DeliveryState, EventType
from memory.services.webhooks.addresses import MAX_URL_CHARS
from memory.services.webhooks.endpoints import MAX_DESCRIPTION_CHARS, MOST_FORMER_HOURS

MAX_WAIT_SECONDS = 50
_TYPES = ", ".join(f"`{one.value}` ({one.label})" for one in EventType)


def _types(**options: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.ChoiceField(EventType.choices),
        max_length=len(EventType),
        error_messages={"not_a_list": "must be a list.", "max_length": "has more than {max_length} items."},
        help_text=f"What it is told of; empty: all. {_TYPES}",
        **options,
    )


class WebhookCreateSerializer(serializers.Serializer):
    namespace = StrictCharField(min_length=1, max_length=128)
    url = StrictCharField(
        min_length=1,
        max_length=MAX_URL_CHARS,
        help_text="Where events are posted to, such as https://example.com/memos",
    )
    types = _types(required=False, default=list)
    description = StrictCharField(required=False, default="", allow_blank=True, max_length=MAX_DESCRIPTION_CHARS)
    include_text = StrictBooleanField(
        required=False,
        default=False,
        help_text="Events of memories bring their texts, for as long as the key that asks for it may read them",
    )


class WebhookChangeSerializer(serializers.Serializer):
    """The webhook's new values. Fields that are left out stay as they are."""

    url = StrictCharField(required=False, min_length=1, max_length=MAX_URL_CHARS)
    types = _types(required=False)
    description = StrictCharField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION_CHARS)
    include_text = StrictBooleanField(required=False)
    enabled = StrictBooleanField(
        required=False, help_text="One that is enabled again is told of what happens from then on"
    )


class WebhookListingSerializer(serializers.Serializer):
    """Query parameters of the list. Empty ones do not narrow it."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("webhooks")


class RotationSerializer(serializers.Serializer):
    keep_hours = StrictIntegerField(
        required=False,
        default=24,
        min_value=0,
        max_value=MOST_FORMER_HOURS,
        help_text="How long messages are signed with the former secret as well; 0: it ends at once",
    )


class DeliveryListingSerializer(serializers.Serializer):
    """Query parameters of the list. Empty ones do not narrow it."""

    state = serializers.ChoiceField(DeliveryState.choices, default="", allow_blank=True)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("deliveries")


class ChangeListingSerializer(serializers.Serializer):
    """Query parameters of the feed."""

    namespace = serializers.CharField(min_length=1, max_length=128, trim_whitespace=False)
    cursor = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=60,
        help_text="`next_cursor` of the answer before; `now`: what comes from now on; none: from the beginning",
    )
    types = serializers.CharField(
        default="", allow_blank=True, max_length=600, help_text="Types of events, separated by commas; none: all"
    )
    wait = serializers.IntegerField(
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        default=0,
        help_text="Seconds to wait for an event when there is none yet",
    )
    limit = serializers.IntegerField(min_value=1, max_value=500, default=100)

    def validate_types(self, value: str) -> list[str]:
        return [one for part in value.split(",") if (one := part.strip())]


class WebhookSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    namespace = serializers.CharField()
    url = serializers.CharField()
    types = serializers.ListField(child=serializers.ChoiceField(EventType.choices), help_text="Empty: all")
    description = serializers.CharField()
    include_text = serializers.BooleanField(help_text="Whether texts are asked for")
    sends_text = serializers.BooleanField(help_text="Whether texts are sent: their key still reads them")
    enabled = serializers.BooleanField()
    disabled_reason = serializers.CharField(allow_null=True, help_text="Why MemOS disabled it; null: it did not")
    failures = serializers.IntegerField(help_text="Attempts in a row that failed")
    failing_since = serializers.DateTimeField(allow_null=True)
    former_secret_until = serializers.DateTimeField(
        allow_null=True, help_text="Until when messages are signed with the former secret as well"
    )
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class NewWebhookSerializer(WebhookSerializer):
    secret = serializers.CharField(help_text="Verifies what is received; it is not shown again")


class WebhookListSerializer(serializers.Serializer):
    webhooks = WebhookSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AttemptSerializer(serializers.Serializer):
    at = serializers.DateTimeField()
    status = serializers.IntegerField(help_text="HTTP status; 0: there was no answer")
    ms = serializers.IntegerField(help_text="Milliseconds")
    error = serializers.CharField(help_text="Empty: it was taken")


class DeliverySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    webhook_id = serializers.UUIDField()
    event_id = serializers.UUIDField(help_text="The header webhook-id, and the event's id in the feed")
    type = serializers.ChoiceField([*EventType.values, TEST_EVENT])
    state = serializers.ChoiceField(DeliveryState.choices)
    attempts = serializers.IntegerField(help_text="Since it was made, or replayed")
    tries = AttemptSerializer(many=True, help_text="The attempts, newest last")
    answer = serializers.CharField(help_text="The beginning of what the receiver answered last")
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class DeliveryListSerializer(serializers.Serializer):
    deliveries = DeliverySerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ReplayedSerializer(serializers.Serializer):
    replayed = serializers.IntegerField()


class ToldEventSerializer(serializers.Serializer):
    """An event, as webhooks and the feed send it."""

    id = serializers.UUIDField()
    type = serializers.ChoiceField(EventType.choices)
    timestamp = serializers.DateTimeField()
    namespace = serializers.CharField()
    actor = serializers.CharField(help_text="Who did it: a key, a member of staff, the worker")
    request_id = serializers.CharField(allow_null=True)
    data = serializers.DictField(  # type: ignore[assignment] # the name of the payload's part
        help_text="Ids and figures, by type: `memory_ids`, `session_id`, …"
    )


class ChangeListSerializer(serializers.Serializer):
    changes = ToldEventSerializer(many=True, help_text="In order; an event may come again, with its id")
    next_cursor = serializers.CharField(help_text="Where to go on, also when there is nothing new")
    has_more = serializers.BooleanField(help_text="Whether there is more to read at once")
