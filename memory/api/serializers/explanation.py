from __future__ import annotations

from rest_framework import serializers

from memory.enums import Verdict


class ArmShareSerializer(serializers.Serializer):
    raw = serializers.FloatField(help_text="The arm's own score")
    rank = serializers.IntegerField(allow_null=True, help_text="Place in the arm; null when not among its best")
    weight = serializers.FloatField(allow_null=True)
    weighted = serializers.FloatField(help_text="What it gave to the score")


class SignalShareSerializer(serializers.Serializer):
    raw = serializers.FloatField(help_text="The signal's own value")
    weight = serializers.FloatField(allow_null=True)
    weighted = serializers.FloatField(help_text="What it gave to the score")


class ArmsSerializer(serializers.Serializer):
    dense = ArmShareSerializer(help_text="By meaning")
    lexical = ArmShareSerializer(help_text="By words")


class PartsSerializer(serializers.Serializer):
    """The parts of a candidate's score, which is the sum of the shares of the arms and signals."""

    arms = ArmsSerializer()
    signals = serializers.DictField(child=SignalShareSerializer(), help_text="By name, those that say something")


class ExplanationSerializer(PartsSerializer):
    id = serializers.UUIDField()
    rank = serializers.IntegerField(help_text="Place among the hits, from 1")
    final = serializers.FloatField(help_text="The score: what `arms` and `signals` gave sums to it")
    relevance = serializers.FloatField(help_text="How likely it is what the question looks for, 0 to 1")
    method = serializers.CharField()
    restated_by = serializers.ListField(
        child=serializers.UUIDField(), help_text="Memories that say the same again and are not listed for that"
    )
    reason = serializers.CharField(help_text="In a sentence, what gave at least a twentieth of the score")


class RerankDebugSerializer(serializers.Serializer):
    method = serializers.CharField()
    components = serializers.DictField(
        child=serializers.FloatField(), help_text="By arm and signal, what it gave to the score: numbers only"
    )
    explanation = ExplanationSerializer()


class DroppedSerializer(PartsSerializer):
    id = serializers.UUIDField()
    rank = serializers.IntegerField(help_text="Place among all candidates, before restatements and variety; from 1")
    final = serializers.FloatField(help_text="Its score, the sum of its parts")
    verdict = serializers.ChoiceField(
        choices=[Verdict.RESTATED, Verdict.VARIETY, Verdict.IRRELEVANT, Verdict.OUTRANKED]
    )
    needed = serializers.FloatField(help_text="The score of the last hit")
    other = serializers.UUIDField(
        allow_null=True,
        help_text="The memory that says the same, the hit that it is too like, or the newer one that took its place",
    )
    reason = serializers.CharField()
