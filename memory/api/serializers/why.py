from __future__ import annotations

from rest_framework import serializers

from memory.api.fields import DegradedField, FilterField, StrictUUIDField
from memory.api.serializers.explanation import ArmsSerializer, SignalShareSerializer
from memory.api.serializers.query import QuestionFields
from memory.enums import Verdict
from memory.services.recall.why import NO_VECTOR


class WhySerializer(QuestionFields):
    """A question, and a memory that it might have found."""

    memory_id = StrictUUIDField()


class DiagnosedPartsSerializer(serializers.Serializer):
    arms = ArmsSerializer(required=False)
    signals = serializers.DictField(child=SignalShareSerializer(), required=False)


class LastHitSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    rank = serializers.IntegerField()
    score = serializers.FloatField()


class ArmStandingSerializer(serializers.Serializer):
    raw = serializers.FloatField(allow_null=True, help_text="The arm's own score; null: the arm does not know it")
    rank = serializers.IntegerField(allow_null=True)
    of = serializers.IntegerField(allow_null=True, help_text="Among so many")
    pool = serializers.IntegerField(help_text="So many of the best are candidates")


class DiagnosisDetailsSerializer(serializers.Serializer):
    """Details of the verdict. Fields that do not concern it are absent."""

    considered = serializers.IntegerField(required=False, help_text="How many candidates there were")
    relevance = serializers.FloatField(required=False, help_text="returned: 0 to 1")
    restated_by = serializers.ListField(
        child=serializers.UUIDField(), required=False, help_text="returned: memories that say the same again"
    )
    other = serializers.UUIDField(
        required=False, allow_null=True, help_text="restated, variety: the memory that is in its way"
    )
    last_hit = LastHitSerializer(required=False, help_text="Of a candidate: the hit that it did not beat")
    missing = serializers.FloatField(required=False, help_text="What its score lacks to the last hit's")
    differences = serializers.DictField(
        child=serializers.FloatField(), required=False, help_text="By arm and signal, what the last hit has more"
    )
    dense = ArmStandingSerializer(required=False, help_text="not_a_candidate: where it stands by meaning")
    lexical = ArmStandingSerializer(required=False, help_text="not_a_candidate: where it stands by its words")
    failed = serializers.ListField(
        child=FilterField(), required=False, help_text="filtered: the entries of the filter that do not hold for it"
    )
    as_of = serializers.DateTimeField(required=False, help_text="recorded_later: as the question has it")
    created_at = serializers.DateTimeField(required=False, help_text="recorded_later: when MemOS learned it")
    occurred_at = serializers.DateTimeField(required=False, help_text="not_holding, with the four below")
    valid_from = serializers.DateTimeField(required=False, allow_null=True)
    valid_to = serializers.DateTimeField(required=False, allow_null=True)
    superseded_by = serializers.UUIDField(required=False, allow_null=True)
    superseded_at = serializers.DateTimeField(required=False, allow_null=True)


class DiagnosisSerializer(serializers.Serializer):
    memory_id = serializers.UUIDField()
    verdict = serializers.ChoiceField(choices=Verdict.choices)
    reason = serializers.CharField(help_text="The verdict in a sentence, with its numbers")
    rank = serializers.IntegerField(
        allow_null=True, help_text="Place among the hits (`returned`) or among the candidates; null for no candidate"
    )
    score = serializers.FloatField(allow_null=True, help_text="The sum of `parts`; null for no candidate")
    parts = DiagnosedPartsSerializer(help_text="As in a hit's explanation; empty for no candidate")
    details = DiagnosisDetailsSerializer()
    notes = serializers.ListField(
        child=serializers.ChoiceField([NO_VECTOR]),
        help_text="`no_vector`: its vector is still to come; words only find it",
    )
    degraded = DegradedField()
