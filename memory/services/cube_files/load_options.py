"""Defines how a cube's file is loaded: which of its parts, from which senders, and with which ids."""

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

# The step that sets the ends of sessions: it reads the part of sessions once more.
SESSION_ENDS = "session_ends"
_READ_AGAIN = {SESSION_ENDS: "sessions"}
# Parts without references come first; policies, which could change the gate, come last. Sessions are counted before
# memories create them, and their ends are set afterwards.
STEPS = (
    "documents", "names", "sessions", "memories", SESSION_ENDS, "links", "pairs", "summaries",
    "quarantine", "audit", "procedures", "policies",
)  # fmt: skip
# The number of the file's memories that are looked up to learn whether another namespace has their ids.
_PROBED = 100


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options of a load. `policy`, `procedures`, `quarantine`, `audit`: load these parts; `holds`: memories keep
    their legal holds. `unknown_sender`: accept a file that no known key has signed."""

    ids: CubeIds = CubeIds.AUTO
    policy: bool = False
    procedures: bool = False
    holds: bool = False
    quarantine: bool = False
    audit: bool = False
    unknown_sender: bool = False

    def steps_of(self, reader: CubeReader) -> list[str]:
        """Return the steps of loading the file, in order; each reads one part."""
        asked = {
            "policies": self.policy,
            "procedures": self.procedures,
            "quarantine": self.quarantine,
            "audit": self.audit,
        }
        return [name for name in STEPS if part_of(name) in reader.manifest.parts and asked.get(name, True)]


def part_of(step: str) -> str:
    """Return the part of the file that a step reads, under which it is counted."""
    return _READ_AGAIN.get(step, step)


def count_lines(reader: CubeReader, steps: Sequence[str]) -> int:
    """Return the number of lines that the steps process: those of sessions count twice."""
    return sum(reader.manifest.parts[part_of(step)].lines for step in steps)


def check_sender(reader: CubeReader, options: LoadOptions) -> None:
    """Raise UnreadableImport for a file of an unknown sender, unless the options allow it, and for its audit events."""
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
    """Decide whether ids are kept or new: kept if no other namespace can have them, as in its own file or another
    server's.

    Raises UnreadableImport if they should be kept and cannot be.
    """
    if wanted == CubeIds.NEW:
        return wanted
    problem = _find_id_problem(scope, reader)
    if problem and wanted == CubeIds.KEEP:
        raise UnreadableImport(f"Ids cannot be kept: {problem}. Load it with `ids` new (or auto).")
    return CubeIds.NEW if problem else CubeIds.KEEP


def options_to_dict(options: LoadOptions) -> dict[str, Any]:
    """Return the options as a row stores them."""
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
