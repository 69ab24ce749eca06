"""Answers in the form that MemTensor's clients expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from memory.api.memtensor.filters import TAGS, USER
from memory.enums import MemoryKind, MemoryState, Role
from memory.kinds import PREFERENCE_KEY, SESSION_PREFIX
from memory.owners import own_metadata
from memory.retrieval.hits import Hit

# Metadata key that holds `chat_time` as the client wrote it.
CHAT_TIME = "memtensor_chat_time"
# Memory types: what people said, what others said, and the preferences that were extracted.
PREFERENCE = "PreferenceMemory"
EXPLICIT = "explicit_preference"
TYPES = ("UserMemory", "LongTermMemory", PREFERENCE)
STATUSES = ("activated", "archived")
# Metadata keys that are not part of the client's `info`.
_OURS = (TAGS, CHAT_TIME)
# States of a bulk change.
PROGRESS = ("success", "in_progress")


class MemTensorMetadataSerializer(serializers.Serializer):
    memory_type = serializers.ChoiceField(TYPES, help_text="`UserMemory`: what a person said")
    status = serializers.ChoiceField(STATUSES)
    user_id = serializers.CharField(allow_null=True)
    session_id = serializers.CharField()
    role = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    info = serializers.DictField(help_text="What the client gave it itself")
    created_at = serializers.DateTimeField()
    memory_time = serializers.DateTimeField(help_text="When it was said")
    relativity = serializers.FloatField(required=False, help_text="Of a search: the relevance, 0 to 1")
    preference_type = serializers.ChoiceField([EXPLICIT], required=False, help_text="Of a preference")
    preference = serializers.CharField(required=False, help_text="Of a preference: as `memory`")


class MemTensorMemorySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    memory = serializers.CharField(help_text="Of a search, behind the `chat_time` in brackets that it was added with")
    ref_id = serializers.CharField(help_text="The id in brackets")
    metadata = MemTensorMetadataSerializer()


class CubeMemoriesSerializer(serializers.Serializer):
    cube_id = serializers.CharField(help_text="As the request names it")
    memories = MemTensorMemorySerializer(many=True)
    total_nodes = serializers.IntegerField(help_text="How many there are in all; of a search, how many came back")


class MemoriesByKindSerializer(serializers.Serializer):
    """The memories by kind. MemOS stores text and lists preferences separately; the other lists are always empty."""

    text_mem = CubeMemoriesSerializer(many=True)
    pref_mem = CubeMemoriesSerializer(many=True)
    tool_mem = CubeMemoriesSerializer(many=True)
    skill_mem = CubeMemoriesSerializer(many=True)
    act_mem = CubeMemoriesSerializer(many=True)
    para_mem = CubeMemoriesSerializer(many=True)
    pref_string = serializers.CharField(allow_blank=True, help_text="The preferences, one in a line")
    pref_note = serializers.CharField(allow_blank=True)


class AddedToCubeSerializer(serializers.Serializer):
    memory = serializers.CharField()
    memory_id = serializers.UUIDField()
    memory_type = serializers.ChoiceField(TYPES)
    cube_id = serializers.CharField()


class DeletedSerializer(serializers.Serializer):
    status = serializers.ChoiceField(PROGRESS)
    deleted = serializers.IntegerField()
    record_ids = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="Of each cube: POST /product/recover_memory_by_record_id brings its memories back; none of memories "
        "that were named by `memory_ids`",
    )


class ChangedMemorySerializer(serializers.Serializer):
    id = serializers.UUIDField()
    text = serializers.CharField()
    cube_id = serializers.CharField()


class FeedbackRecordSerializer(serializers.Serializer):
    add = ChangedMemorySerializer(many=True)
    update = ChangedMemorySerializer(  # type: ignore[assignment]
        many=True, help_text="Always empty: memories are compared in the background"
    )


class FeedbackKeptSerializer(serializers.Serializer):
    record = FeedbackRecordSerializer()


class SuggestedSerializer(serializers.Serializer):
    query = serializers.ListField(child=serializers.CharField())


class ReferenceSerializer(serializers.Serializer):
    n = serializers.IntegerField(help_text="The answer cites it as [n]")
    id = serializers.UUIDField()
    memory = serializers.CharField()
    ref_id = serializers.CharField()
    cube_id = serializers.CharField(help_text="Whose it is, as the request names it")


class ChatAnswerSerializer(serializers.Serializer):
    response = serializers.CharField()
    reasoning = serializers.CharField(allow_null=True, help_text="Always null")
    references = ReferenceSerializer(many=True, help_text="What the answer cites")


def group(cubes: Sequence[Mapping[str, Any]], *, with_preferences: bool = True) -> dict[str, Any]:
    """Group the memories of each cube into the lists by kind that clients expect."""
    texts, preferences = [], []
    for cube in cubes:
        of_kind: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
        for memory in cube["memories"]:
            of_kind[memory["metadata"]["memory_type"] == PREFERENCE].append(memory)
        texts.append({**cube, "memories": of_kind[False]})
        if of_kind[True] and with_preferences:
            preferences.append({**cube, "memories": of_kind[True], "total_nodes": len(of_kind[True])})
    lines = [memory["memory"] for cube in preferences for memory in cube["memories"]]
    empty: dict[str, list[Any]] = {name: [] for name in ("tool_mem", "skill_mem", "act_mem", "para_mem")}
    return {"text_mem": texts, "pref_mem": preferences, **empty, "pref_string": "\n".join(lines), "pref_note": ""}


def describe_hit(hit: Hit) -> dict[str, Any]:
    """Return a memory that a search found."""
    described = _describe(str(hit.id), hit.text, hit.role, hit.metadata)
    # Memories extracted from turns have negative turn numbers. Of these only preferences have the key of an attitude.
    if hit.turn < 0 and not hit.session.startswith(SESSION_PREFIX) and PREFERENCE_KEY in hit.metadata:
        described["metadata"] |= _describe_preference(hit.text)
    if isinstance(said_at := hit.metadata.get(CHAT_TIME), str):
        described["memory"] = f"[{said_at}]: {hit.text}"
    described["metadata"] |= {
        "status": STATUSES[0],
        "session_id": hit.session,
        "created_at": hit.created_at.isoformat(),
        "memory_time": hit.occurred_at.isoformat(),
        "relativity": hit.relevance,
    }
    return described


def describe_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory of a list."""
    described = _describe(row["id"], row["text"], row["role"], row["metadata"])
    if row["kind"] == MemoryKind.PREFERENCE:
        described["metadata"] |= _describe_preference(row["text"])
    described["metadata"] |= {
        "status": STATUSES[row["state"] != MemoryState.ACTIVE],
        "session_id": row["session_id"],
        "created_at": row["created_at"],
        "memory_time": row["occurred_at"],
    }
    return described


def name_type(role: str) -> str:
    """Return the memory type for a role."""
    return TYPES[role != Role.USER]


def name_reference(memory_id: str) -> str:
    """Return the reference to a memory that texts use."""
    return f"[{memory_id}]"


def _describe(identity: str, text: str, role: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    tags, user = metadata.get(TAGS), metadata.get(USER)
    return {
        "id": identity,
        "memory": text,
        "ref_id": name_reference(identity),
        "metadata": {
            "memory_type": name_type(role),
            "user_id": user if isinstance(user, str) else None,
            "role": role,
            "tags": [one for one in tags if isinstance(one, str)] if isinstance(tags, list) else [],
            "info": {name: value for name, value in own_metadata(metadata).items() if name not in _OURS},
        },
    }


def _describe_preference(text: str) -> dict[str, str]:
    return {"memory_type": PREFERENCE, "preference_type": EXPLICIT, "preference": text}
