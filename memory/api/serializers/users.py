from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import MetadataField, StrictBooleanField, StrictCharField
from memory.api.serializers.erasure import STATES
from memory.enums import Attitude, ErasureTarget, PreferenceSource
from memory.services.memories.change import MAX_REASON_CHARS
from memory.services.tenancy.users import MAX_NAME_CHARS, MOST_NAMESPACES


class NamespacesField(serializers.ListField):
    """Names of namespaces."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            child=StrictCharField(min_length=1, max_length=128),
            max_length=MOST_NAMESPACES,
            error_messages={"not_a_list": "must be a list.", "max_length": "has more than {max_length} items."},
            **options,
        )


class UserCreateSerializer(serializers.Serializer):
    """A user who belongs to a namespace."""

    namespace = StrictCharField(
        min_length=1, max_length=128, help_text="The namespace it belongs to: who reaches that sees the user"
    )
    name = StrictCharField(min_length=1, max_length=MAX_NAME_CHARS, help_text="Unique in the namespace")
    display_name = StrictCharField(required=False, default="", allow_blank=True, max_length=MAX_NAME_CHARS)
    preferences = MetadataField(required=False, default=dict, help_text="What the user wants, as clients keep it")
    metadata = MetadataField(required=False, default=dict, help_text="The clients' own")
    namespaces = NamespacesField(required=False, default=list, help_text="Other namespaces that are the user's")


class UserChangeSerializer(serializers.Serializer):
    """The user's new values. Fields that are left out stay as they are."""

    name = StrictCharField(required=False, min_length=1, max_length=MAX_NAME_CHARS)
    display_name = StrictCharField(required=False, allow_blank=True, max_length=MAX_NAME_CHARS)
    preferences = MetadataField(required=False, help_text="All of them: they take the place of the former")
    metadata = MetadataField(required=False, help_text="All of it: it takes the place of the former")
    namespaces = NamespacesField(
        required=False, help_text="Those besides its own; those that the key does not reach stay as they are"
    )


class UserListingSerializer(serializers.Serializer):
    """Query parameters of the list. Empty ones do not narrow it."""

    namespace = serializers.CharField(default="", allow_blank=True, max_length=128, trim_whitespace=False)
    name = serializers.CharField(
        default="", allow_blank=True, max_length=MAX_NAME_CHARS, trim_whitespace=False, help_text="Exactly this name"
    )
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("users")


class UserSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    namespace = serializers.CharField(help_text="The namespace it belongs to")
    name = serializers.CharField()
    display_name = serializers.CharField(allow_blank=True)
    preferences = MetadataField()
    metadata = MetadataField()
    namespaces = serializers.ListField(
        child=serializers.CharField(), help_text="The user's, as far as the key reaches them; its own comes first"
    )
    revision = serializers.IntegerField(help_text="Of its ETag")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class UserListSerializer(serializers.Serializer):
    users = UserSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class UserEraseSerializer(serializers.Serializer):
    """A request to erase a user for good."""

    reason = StrictCharField(min_length=1, max_length=MAX_REASON_CHARS, help_text="Kept on the receipts")
    confirm = StrictCharField(
        required=False, default="", allow_blank=True, max_length=MAX_NAME_CHARS, help_text="The user's name once more"
    )
    dry_run = StrictBooleanField(required=False, default=False, help_text="Only say what would be erased")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["reason"].strip():
            raise serializers.ValidationError({"reason": "must not be empty."})
        return attrs


class UserErasurePartSerializer(serializers.Serializer):
    """The part of an erasure in one namespace. GET /v1/erasures/{id} returns the whole receipt."""

    id = serializers.UUIDField(allow_null=True, help_text="Of its receipt; null: a dry run")
    namespace = serializers.CharField()
    target = serializers.ChoiceField(ErasureTarget.choices)
    found = serializers.IntegerField(help_text="Memories that are erased")
    status = serializers.ChoiceField(STATES)


class UserErasureSerializer(serializers.Serializer):
    """The receipt of a user's erasure."""

    user_id = serializers.UUIDField()
    namespace = serializers.CharField(help_text="The one that the user belonged to")
    status = serializers.ChoiceField(STATES, help_text="`finished`: all of the memories are erased as well")
    reason = serializers.CharField()
    erasures = UserErasurePartSerializer(many=True)
    keys_revoked = serializers.IntegerField(help_text="Keys of the user that are revoked")
    shares_ended = serializers.IntegerField(help_text="Cubes that are no longer shared with the user")
    cubes_disowned = serializers.IntegerField(help_text="Cubes, now empty, that have no owner any more")
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()


class ProfileQuerySerializer(serializers.Serializer):
    """Query parameters of a profile."""

    current = serializers.BooleanField(
        required=False, default=True, allow_null=True,
        help_text="True: what holds now; false: what was superseded; empty: both",
    )  # fmt: skip
    attitude = serializers.ChoiceField(choices=Attitude.choices, required=False, default=None)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = PageCursorField("preferences")


class ProfileLineSerializer(serializers.Serializer):
    """A preference: a memory of the kind `preference`, which can be corrected or archived like any other."""

    memory_id = serializers.UUIDField()
    namespace = serializers.CharField()
    text = serializers.CharField(help_text="The clause that says it; of choices, what they come to")
    attitude = serializers.CharField(allow_blank=True, help_text="like, dislike, constraint or habit")
    object = serializers.CharField(allow_blank=True, help_text="What it is about")
    wanted = serializers.BooleanField(help_text="Whether the user wants it, or keeps away from it")
    scope = serializers.CharField(allow_blank=True, help_text="When it applies, in the turn's words; empty: always")
    strength = serializers.FloatField(
        help_text="0 to 1; each further turn that says or shows it adds 0.05, of choices up to 0.5"
    )
    shown_by = serializers.ChoiceField(
        choices=PreferenceSource.choices, help_text="The user states it, or chooses the same again and again"
    )
    evidence = serializers.ListField(
        child=serializers.UUIDField(), help_text="The memories that say it, the oldest first"
    )
    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(allow_null=True)
    superseded_by = serializers.UUIDField(allow_null=True, help_text="The newer preference that takes its place")
    revision = serializers.IntegerField()


class ProfileSerializer(serializers.Serializer):
    user_id = serializers.UUIDField()
    name = serializers.CharField()
    preferences = ProfileLineSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True)
