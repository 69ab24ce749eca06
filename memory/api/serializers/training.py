from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictBooleanField, StrictCharField
from memory.enums import AdapterState, TrainingOrigin, TrainingState
from memory.services.training.adapters import MAX_TRAINING, AdapterOptions
from memory.services.training.datasets import FILES, MAX_LINES, MAX_OPEN, TrainingOptions
from memory.services.training.lines import MAX_TEXT_CHARS

_ORIGINS = "; ".join(f"`{one.value}`: {one.label}" for one in TrainingOrigin)
_DEFAULTS = TrainingOptions()
_TRAINED = AdapterOptions()


class TrainingExportSerializer(serializers.Serializer):
    namespace = StrictCharField(min_length=1, max_length=128, help_text="Its policy must have `training.consent`")
    origins = serializers.ListField(
        child=serializers.ChoiceField(TrainingOrigin.choices),
        required=False,
        min_length=1,
        max_length=len(TrainingOrigin),
        help_text=f"What lines are made of. {_ORIGINS}",
    )
    min_importance = serializers.FloatField(
        required=False, default=_DEFAULTS.min_importance, min_value=0, max_value=1, help_text="For what nobody marked"
    )
    max_lines = serializers.IntegerField(
        required=False, default=_DEFAULTS.max_lines, min_value=1, max_value=MAX_LINES, help_text="The oldest come first"
    )

    @staticmethod
    def to_options(values: dict[str, Any]) -> TrainingOptions:
        """Return the validated values in the form that services expect. Origins are sorted and unique."""
        wanted = set(values.get("origins") or TrainingOrigin.values)
        origins = tuple(one for one in TrainingOrigin if one.value in wanted)
        return TrainingOptions(origins, values["min_importance"], values["max_lines"])


class TrainingListingSerializer(serializers.Serializer):
    namespace = StrictCharField(required=False, default="", min_length=1, max_length=128)
    cursor = PageCursorField("exports")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class AdapterListingSerializer(TrainingListingSerializer):
    cursor = PageCursorField("adapters")


class TrainingFileSerializer(serializers.Serializer):
    lines = serializers.IntegerField()
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of the file as it is downloaded")


class TrainingDatasetSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Also the `request_id` of its audit events")
    namespace = serializers.CharField()
    state = serializers.ChoiceField(TrainingState.choices, help_text="As its job stands, until it is made")
    problem = serializers.CharField(allow_null=True, help_text="Why it was not made")
    options = serializers.DictField(help_text="What was asked for")
    files = serializers.DictField(child=TrainingFileSerializer(), help_text=f"By name: {', '.join(FILES)}")
    memories = serializers.IntegerField(help_text="That it was made of")
    redacted = serializers.IntegerField(help_text="Texts in which the gate put marks in the place of words")
    left_out = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Reason to how much: `gate`, `question`, `no_question` (nothing of it can be asked for), "
        f"`too_short`, `too_long` (more than {MAX_TEXT_CHARS} characters), `same_text`, `over_max_lines`",
    )
    policy_version = serializers.IntegerField(allow_null=True, help_text="Of the policy that it was made under")
    snapshot_at = serializers.DateTimeField(allow_null=True, help_text="When all of it was so")
    stale = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="How many of its memories are not as they were: `erased`, `gone`, `changed`, `superseded`, "
        "`reinstated`, `archived`",
    )
    rebuild_of = serializers.UUIDField(allow_null=True, help_text="The adapter in whose place one is trained on it")
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class TrainingDatasetListSerializer(serializers.Serializer):
    exports = TrainingDatasetSerializer(
        many=True, help_text=f"The newest first; at most {MAX_OPEN} of a namespace are not made yet"
    )
    next_cursor = serializers.CharField(allow_null=True)


class AdapterTrainingSerializer(serializers.Serializer):
    namespace = StrictCharField(min_length=1, max_length=128)
    name = StrictCharField(min_length=1, max_length=48, help_text="Small letters, digits and hyphens")
    dataset_id = serializers.UUIDField(help_text="A training export that is `done`")
    rank = serializers.IntegerField(required=False, default=_TRAINED.rank, min_value=1, max_value=64)
    epochs = serializers.IntegerField(
        required=False,
        default=_TRAINED.epochs,
        min_value=1,
        max_value=100,
        help_text="At most; fewer when it is learnt",
    )
    learning_rate = serializers.FloatField(
        required=False, default=_TRAINED.learning_rate, min_value=1e-6, max_value=1e-2
    )
    batch = serializers.IntegerField(required=False, default=_TRAINED.batch, min_value=1, max_value=64)
    seed = serializers.IntegerField(required=False, default=_TRAINED.seed, min_value=0, max_value=2**31 - 1)

    @staticmethod
    def to_options(values: dict[str, Any]) -> AdapterOptions:
        """Return the validated values in the form that services expect."""
        names = ("rank", "epochs", "learning_rate", "batch", "seed")
        return AdapterOptions(**{name: values[name] for name in names})


class AdapterRetireSerializer(serializers.Serializer):
    delete_files = StrictBooleanField(
        required=False, default=False, help_text="It cannot be activated again afterwards"
    )


class AdapterFileSerializer(serializers.Serializer):
    sha256 = serializers.CharField()
    bytes = serializers.IntegerField()


class AdapterSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Also the `request_id` of its audit events")
    namespace = serializers.CharField()
    name = serializers.CharField()
    model = serializers.CharField(help_text="What servers of models call it: the `model` of a request to them")
    state = serializers.ChoiceField(
        AdapterState.choices, help_text=f"At most {MAX_TRAINING} of a namespace are `training`"
    )
    problem = serializers.CharField(allow_null=True, help_text="Why it is refused, stale or not rebuilt")
    dataset_id = serializers.UUIDField()
    options = serializers.DictField()
    base_model = serializers.CharField(allow_blank=True, help_text="Folder or file that it was trained on")
    base_sha256 = serializers.CharField(allow_blank=True, help_text="Of the base model's weights")
    files = serializers.DictField(child=AdapterFileSerializer(), help_text="Empty: they are not there (any more)")
    metrics = serializers.DictField(
        help_text="`recall`, `paraphrases`, `refusals` (0 to 1), `loss_facts`, `loss_general` (before and after, in "
        "nats a token), `preferred`, seconds, bytes"
    )
    refusals = serializers.ListField(child=serializers.CharField(), help_text="Why the evaluation did not let it pass")
    served_by = serializers.ListField(child=serializers.CharField(), help_text="Servers that have it loaded")
    stale = serializers.DictField(child=serializers.IntegerField(), help_text="As of its data set")
    rebuild = serializers.BooleanField(help_text="Another is to be made in its place")
    erasures = serializers.ListField(child=serializers.UUIDField(), help_text="That took away what it had learnt")
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    trained_at = serializers.DateTimeField(allow_null=True)
    activated_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class AdapterListSerializer(serializers.Serializer):
    adapters = AdapterSerializer(many=True, help_text="The newest first")
    next_cursor = serializers.CharField(allow_null=True)
