"""How a cube's file is loaded: which of its parts, from whom, and under which ids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memory.enums import CubeIds
from memory.models import Memory
from memory.postgresql import reach
from memory.services.cube_files.archive import CubeReader
from memory.services.imports.source import UnreadableImport
from memory.types import Scope

# Where sessions end: the part of sessions, read once more.
SESSION_ENDS = "session_ends"
_READ_AGAIN = {SESSION_ENDS: "sessions"}
# What names nothing else comes first; what would change the gate that the rest passes comes last. Sessions are counted
# before memories make them, and end where they did when these are there.
STEPS = (
    "documents", "names", "sessions", "memories", SESSION_ENDS, "links", "pairs", "summaries",
    "quarantine", "audit", "procedures", "policies",
)  # fmt: skip
# So many memories of the file are looked up to know whether their ids are another namespace's.
_PROBED = 100


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a file is loaded. `policy`, `procedures`, `quarantine`, `audit`: whether these parts are; `holds`: whether
    memories keep their legal holds. `unknown_sender`: also a file that is not signed by a key that this server knows.
    """

    ids: CubeIds = CubeIds.AUTO
    policy: bool = False
    procedures: bool = False
    holds: bool = False
    quarantine: bool = False
    audit: bool = False
    unknown_sender: bool = False

    def steps_of(self, reader: CubeReader) -> list[str]:
        """The steps of loading the file, in their order; each reads one part."""
        asked = {
            "policies": self.policy,
            "procedures": self.procedures,
            "quarantine": self.quarantine,
            "audit": self.audit,
        }
        return [name for name in STEPS if part_of(name) in reader.manifest.parts and asked.get(name, True)]


def part_of(step: str) -> str:
    """The part of the file that a step reads, under which it is counted."""
    return _READ_AGAIN.get(step, step)


def count_lines(reader: CubeReader, steps: Sequence[str]) -> int:
    """How many lines the steps deal with: those of sessions twice."""
    return sum(reader.manifest.parts[part_of(step)].lines for step in steps)


def check_sender(reader: CubeReader, options: LoadOptions) -> None:
    """Raises UnreadableImport for a file of an unknown sender, unless the options let it in, or not all of it."""
    if reader.is_trusted:
        return
    if not options.unknown_sender:
        why = "is not signed" if reader.signature == "none" else "is signed by a key that this server does not know"
        raise UnreadableImport(
            f"The file {why}. Have both servers share MEMOS_CUBE_KEY, or name the sender's public key in "
            "MEMOS_CUBE_TRUSTED_KEYS; or load it all the same with `unknown_sender`: then ids are new, vectors are "
            "made anew, and legal holds and audit events stay out."
        )
    if options.audit:
        raise UnreadableImport("Audit events are loaded from a file of a known sender only: leave `audit` out.")


def choose_ids(scope: Scope, reader: CubeReader, wanted: CubeIds) -> CubeIds:
    """Whether ids are kept or new: kept where nobody else can have them, in a namespace's own file or another server's.

    Raises UnreadableImport when they are to be kept and cannot be.
    """
    if wanted == CubeIds.NEW:
        return wanted
    problem = _find_id_problem(scope, reader)
    if problem and wanted == CubeIds.KEEP:
        raise UnreadableImport(f"Ids cannot be kept: {problem}. Load it with `ids` new (or auto).")
    return CubeIds.NEW if problem else CubeIds.KEEP


def options_to_dict(options: LoadOptions) -> dict[str, Any]:
    """The options as a row keeps them."""
    return {**asdict(options), "ids": options.ids.value}


def _find_id_problem(scope: Scope, reader: CubeReader) -> str:
    if not reader.is_trusted:
        return "the file is of an unknown sender, who could choose those of another namespace"
    if reader.is_of(scope):
        return ""
    if reader.is_of_this_server:
        return f"the namespace {reader.manifest.namespace!r} of this server has them"
    ids = [line.get("id") for _, line in itertools.islice(reader.lines("memories"), _PROBED)]
    with reach.across_namespaces():
        taken = Memory.objects.across_namespaces().filter(pk__in=[one for one in ids if one])
        if taken.exclude(namespace_id=scope.namespace_id).exists():
            return "another namespace of this server has them, for the file was loaded there"
    return ""
