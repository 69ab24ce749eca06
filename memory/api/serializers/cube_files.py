from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.cursors import PageCursorField
from memory.api.fields import StrictBooleanField, StrictCharField
from memory.enums import CubeFileKind, CubeFileState, CubeIds, CubeSignature
from memory.services.cube_files.dump import DumpOptions
from memory.services.cube_files.load import LISTED
from memory.services.cube_files.load_options import LoadOptions
from memory.services.cube_files.requests import MAX_OPEN, CubeUpload
from memory.services.cube_files.run import SHOWN_FAULTS

_IDS = (
    "Those of the file, new ones, or (auto) those of the file where nobody else can have them: in the namespace that "
    "it is of, and from another server with a known signature"
)


_SIGNATURE = (
    "Who wrote the file: this server (own), another whose public key it knows or with whom it shares MEMOS_CUBE_KEY "
    "(trusted), somebody else (unknown), or nobody says (none)"
)
_OF_LOAD = ("policy", "procedures", "holds", "quarantine", "audit", "unknown_sender")


class CubeDumpSerializer(serializers.Serializer):
    """Optional contents of a dump.

    Memories, sessions, summaries, documents, entities, prompts, tools and policies are always included.
    """

    vectors = StrictBooleanField(required=False, default=False, help_text="So that they need not be made anew")
    quarantine = StrictBooleanField(required=False, default=False, help_text="What waits there; needs the scope admin")
    audit = StrictBooleanField(required=False, default=False, help_text="Audit events; needs the scope admin")

    @staticmethod
    def to_options(values: dict[str, Any]) -> DumpOptions:
        """Return the validated values in the form that services expect."""
        return DumpOptions(**{name: values[name] for name in ("vectors", "quarantine", "audit")})


class CubeLoadSerializer(serializers.Serializer):
    """A cube's file, or the zipped folder of a cube from MemTensor's MemOS, and the options for loading it."""

    file = serializers.FileField(required=False, help_text="A .memcube file, unless it is an `upload`")
    upload = serializers.UUIDField(required=False, help_text="Id of the file, sent in parts (POST /v1/uploads)")
    namespace = StrictCharField(min_length=1, max_length=128, help_text="Where it goes")
    dry_run = serializers.BooleanField(required=False, default=False, help_text="Only say what it would do")
    ids = serializers.ChoiceField(CubeIds.choices, required=False, default=CubeIds.AUTO, help_text=_IDS)
    policy = serializers.BooleanField(
        required=False, default=False, help_text="Also the policy in force; needs the scope admin"
    )
    procedures = serializers.BooleanField(
        required=False, default=False, help_text="Also prompts and tools; needs the scope admin"
    )
    holds = serializers.BooleanField(
        required=False,
        default=None,
        allow_null=True,
        help_text="Whether memories keep their legal holds; needs the scope admin, and is so with it if not said",
    )
    quarantine = serializers.BooleanField(
        required=False, default=False, help_text="Also what waits in the quarantine; needs the scope admin"
    )
    audit = serializers.BooleanField(
        required=False, default=False, help_text="Also audit events, as events that tell of them; needs the scope admin"
    )
    unknown_sender = serializers.BooleanField(
        required=False, default=False, help_text="Load it although it is not signed by a key that this server knows"
    )

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Raise ValidationError unless exactly one file is given."""
        if ("file" in values) == ("upload" in values):
            raise serializers.ValidationError({"file": "Give either a `file` or the `upload` of one, one of the two."})
        return values

    @staticmethod
    def to_upload(values: dict[str, Any]) -> CubeUpload:
        """Return the validated values in the form that services expect."""
        if "upload" in values:
            return CubeUpload(upload_id=values["upload"])
        return CubeUpload(values["file"].name, values["file"].chunks())

    @staticmethod
    def to_options(values: dict[str, Any]) -> LoadOptions:
        """Return the validated values in the form that services expect."""
        named = {name: values[name] for name in _OF_LOAD}
        return LoadOptions(ids=CubeIds(values["ids"]), **named)


class CubeFileListingSerializer(serializers.Serializer):
    namespace = StrictCharField(required=False, default="", min_length=1, max_length=128)
    cursor = PageCursorField("cube-files")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class CubeFileFaultSerializer(serializers.Serializer):
    place = serializers.CharField(help_text="`memories, line 7`")
    reason = serializers.CharField()


class CubeFileOutcomeSerializer(serializers.Serializer):
    id = serializers.CharField(help_text="Of the memory, in the file")
    session = serializers.CharField(allow_blank=True)
    outcome = serializers.CharField(help_text="`new`, `redacted`, `quarantined`, `rejected`, `erased`, …")
    rule = serializers.CharField(allow_blank=True, help_text="Of the gate, where it decided")


class CubeFileSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Also the `request_id` of its audit events")
    namespace = serializers.CharField()
    kind = serializers.ChoiceField(CubeFileKind.choices)
    state = serializers.ChoiceField(
        CubeFileState.choices, help_text="As its job stands; one that failed can be replayed (POST /v1/ops/jobs)"
    )
    name = serializers.CharField(allow_blank=True, help_text="Of the file")
    bytes = serializers.IntegerField(help_text="Of the file; 0 until a dump is done")
    sha256 = serializers.CharField(allow_blank=True, help_text="Of the file")
    dry_run = serializers.BooleanField()
    options = serializers.DictField(help_text="As they were asked for")
    manifest = serializers.DictField(
        allow_null=True, help_text="The file's own: schema, parts with lines, bytes and SHA-256, models, policy, dates"
    )
    signature = serializers.ChoiceField(CubeSignature.choices, allow_null=True, help_text=_SIGNATURE)
    done = serializers.IntegerField(
        help_text="Lines that were dealt with (those of sessions twice), or memories written"
    )
    total = serializers.IntegerField(help_text="0 until it is known")
    counts = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()),
        help_text="Of a load: by part, how many are new, present (there already), redacted, quarantined, rejected (by "
        "the gate), erased (and stay so), left_out or unreadable; under `legal_holds`, how many of the new "
        "memories keep theirs (new) or not (left_out)",
    )
    listed = CubeFileOutcomeSerializer(
        many=True, help_text=f"The first {LISTED} memories that are not simply new; of a dry run, the first of all"
    )
    faults = CubeFileFaultSerializer(many=True, help_text=f"The first {SHOWN_FAULTS} lines that cannot be read")
    problem = serializers.CharField(allow_null=True, help_text="Why it was refused after all, and how to mend it")
    downloadable = serializers.BooleanField(help_text="GET /v1/cubes/files/{id}/content answers the file")
    actor = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class CubeFileListSerializer(serializers.Serializer):
    files = CubeFileSerializer(many=True, help_text=f"The newest first; at most {MAX_OPEN} of a namespace are not over")
    next_cursor = serializers.CharField(allow_null=True)
