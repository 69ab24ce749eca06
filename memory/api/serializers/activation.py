from __future__ import annotations

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictCharField
from memory.enums import ActivationEngine, ActivationState, DropReason, PromptForm


class ActivationBuildSerializer(serializers.Serializer):
    """A cache of the cube's prefix to compute, and the engine for it."""

    engine = serializers.ChoiceField(
        ActivationEngine.choices,
        default=ActivationEngine.LLAMACPP,
        help_text="`llamacpp` makes answers faster by itself; a file of `transformers` is for programs of your own",
    )
    form = serializers.ChoiceField(
        PromptForm.choices,
        default=PromptForm.ANSWER,
        help_text="Which prompts it is for: those of /v1/answer and /v1/chat, or those of /v1/chat/completions",
    )
    model = StrictCharField(
        required=False, default="", min_length=1, max_length=200,
        help_text="`llamacpp/NAME`; left out, the model that answers",
    )  # fmt: skip


class ActivationBuildAnswerSerializer(serializers.Serializer):
    job_id = serializers.UUIDField(help_text="GET /v1/ops/jobs/{job_id} says how far it is, and what went wrong")
    engine = serializers.ChoiceField(ActivationEngine.choices)
    form = serializers.ChoiceField(PromptForm.choices)
    model = serializers.CharField()
    prefix_sha256 = serializers.CharField(help_text="That of the packs whose prefix it will hold")
    prefix_tokens = serializers.IntegerField(help_text="As the server's tokenizer counts them")
    memory_ids = serializers.ListField(child=serializers.UUIDField(), help_text="The memories that it will hold")


class ActivationListingSerializer(serializers.Serializer):
    cursor = PageCursorField("caches")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class ActivationCacheSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    engine = serializers.ChoiceField(ActivationEngine.choices)
    model = serializers.CharField()
    form = serializers.ChoiceField(PromptForm.choices)
    prefix_sha256 = serializers.CharField(help_text="That of the packs whose prefix it holds")
    state = serializers.ChoiceField(ActivationState.choices)
    reason = serializers.ChoiceField(
        DropReason.choices, allow_null=True, help_text="Why it is stale; its file goes within a minute"
    )
    file = serializers.CharField(help_text="By model, prefix and id")
    folder_id = serializers.UUIDField(help_text="Of the folder that has the file")
    bytes = serializers.IntegerField(help_text="0 until it is ready")
    tokens = serializers.IntegerField(help_text="Of the prompt, as its model counts them; 0 until it is ready")
    build_ms = serializers.IntegerField(allow_null=True, help_text="Milliseconds that the model took to compute it")
    uses = serializers.IntegerField(help_text="How often it was loaded from its file")
    memory_ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="The memories that it holds; it goes with any of them"
    )
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    written_at = serializers.DateTimeField(allow_null=True)
    used_at = serializers.DateTimeField(allow_null=True, help_text="When it was loaded last, or found in its slot")


class FirstTokenSerializer(serializers.Serializer):
    """Median time to the first token in milliseconds, loading included. It is null without such calls."""

    hit = serializers.IntegerField(allow_null=True, help_text="The model had the prefix")
    miss = serializers.IntegerField(allow_null=True, help_text="It was given the prefix, and had it not")
    without = serializers.IntegerField(allow_null=True, help_text="There was no cache for the call")


class ActivationFiguresSerializer(serializers.Serializer):
    """The benefit of the caches, from the ledger of llama.cpp's successful calls."""

    days = serializers.IntegerField(help_text="Of the last so many days")
    calls = serializers.IntegerField(help_text="Calls that were given a cache")
    hits = serializers.IntegerField(help_text="Of them, those for which the model computed nothing of it again")
    hit_rate = serializers.FloatField(allow_null=True, help_text="Null without calls")
    cached_tokens = serializers.IntegerField(help_text="Tokens that hits did not compute")
    ttft_ms = FirstTokenSerializer()


class ActivationListSerializer(serializers.Serializer):
    caches = ActivationCacheSerializer(many=True, help_text="The newest first")
    figures = ActivationFiguresSerializer()
    next_cursor = serializers.CharField(allow_null=True)


class ActivationLoadSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    id_slot = serializers.IntegerField(help_text="The slot that has it now, as requests to llama.cpp name it")
    tokens = serializers.IntegerField()
    load_ms = serializers.IntegerField(help_text="Milliseconds that loading took")
