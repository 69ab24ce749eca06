"""Surveys a file before it is imported: conversations, dates, and how many turns the gate would stop."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memory.enums import GateDecision, ImportFormat, Role
from memory.services.imports.detect import Recognised
from memory.services.imports.source import SourceConversation, SourceTurn
from memory.services.imports.take_in import count_known
from memory.services.ingestion.admission import judge_turn
from memory.text.transcripts import TranscriptFault
from memory.types import Scope

SHOWN_FAULTS = 20
# The most turns that a preview has judged and looked up, because more would add little.
JUDGED_TURNS = 2_000
_MAX_REASON_CHARS = 200


@dataclass(slots=True)
class ImportSurvey:
    """The content of a file, counted as in `SourceConversation`. `faults`: the first of the `unreadable` messages;
    `notes`: guesses about the file.

    In a preview, `gate` counts the verdicts on the first `judged` turns, of which `present` exist already; without
    `complete` the time was over before the end of the file.
    """

    format: ImportFormat
    sessions: set[str] = field(default_factory=set)
    messages: int = 0
    turns: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    parts_left_out: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gate: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    present: int = 0
    complete: bool = True
    _taken: int = 0

    @property
    def conversations(self) -> int:
        return len(self.sessions)

    def add(self, conversation: SourceConversation) -> None:
        """Count the content of the conversation."""
        self.messages += conversation.messages
        self.left_out += conversation.left_out
        self.parts_left_out += conversation.parts_left_out
        self.unreadable += sum(fault.turns for fault in conversation.faults)
        for fault in conversation.faults:
            self._add_fault(fault)
        self.turns += len(conversation.turns)
        self._taken += sum(turn.piece == 1 for turn in conversation.turns)
        self.sessions |= {turn.memory.session for turn in conversation.turns}
        moments = [turn.memory.occurred_at for turn in conversation.turns if turn.memory.occurred_at]
        if moments:
            self.first_at = min([*moments, *([self.first_at] if self.first_at else [])])
            self.last_at = max([*moments, *([self.last_at] if self.last_at else [])])

    def add_rest(self, recognised: Recognised) -> None:
        """Count, after all conversations, the files of a zip that were not read, and messages that are neither turns
        nor counted, which are unreadable."""
        if recognised.files_left_out:
            self.parts_left_out["file"] += recognised.files_left_out
        missing = self.messages - self._taken - self.left_out.total() - self.unreadable
        if missing > 0:
            self.unreadable += missing
            self._add_fault(TranscriptFault("the file", f"{missing} of its messages were not found again"))

    def _add_fault(self, fault: TranscriptFault) -> None:
        if len(self.faults) < SHOWN_FAULTS:
            self.faults.append({"place": fault.place, "reason": fault.reason[:_MAX_REASON_CHARS]})

    def to_dict(self) -> dict[str, Any]:
        """Return the counts by their names in the API."""
        return {
            "format": self.format.value,
            "conversations": self.conversations,
            "messages": self.messages,
            "turns": self.turns,
            "first_at": self.first_at,
            "last_at": self.last_at,
            "left_out": dict(self.left_out),
            "parts_left_out": dict(self.parts_left_out),
            "unreadable": self.unreadable,
            "faults": self.faults,
            "notes": self.notes,
        }


def name_speaker(conversation: SourceConversation, speaker: str) -> SourceConversation:
    """Attribute the user's turns of the conversation to `speaker`, unless they name another one."""
    if speaker:
        conversation.turns = [_name_speaker(turn, speaker) for turn in conversation.turns]
    return conversation


def list_turns(recognised: Recognised, *, speaker: str) -> Iterator[SourceTurn]:
    """Yield every turn of the file, in the same order each time. Raises UnreadableImport."""
    for conversation in recognised.conversations():
        yield from name_speaker(conversation, speaker).turns


def look_over(recognised: Recognised) -> ImportSurvey:
    """Survey the whole file. Raises UnreadableImport."""
    survey = ImportSurvey(recognised.format, notes=recognised.notes)
    for conversation in recognised.conversations():
        survey.add(conversation)
    survey.add_rest(recognised)
    return survey


def preview(scope: Scope, recognised: Recognised, *, speaker: str, seconds: float) -> ImportSurvey:
    """Survey the file and judge its turns, as far as `seconds` allow. Stores nothing.

    Raises UnreadableImport.
    """
    until = time.monotonic() + seconds
    gate = Counter(dict.fromkeys(GateDecision.values, 0))
    survey = ImportSurvey(recognised.format, notes=recognised.notes, gate=gate)
    for conversation in recognised.conversations():
        survey.add(name_speaker(conversation, speaker))
        looked_at = conversation.turns[: JUDGED_TURNS - survey.judged]
        survey.present += count_known(scope, looked_at)
        for turn in looked_at:
            survey.gate[_judge(scope, turn)] += 1
            survey.judged += 1
            if time.monotonic() > until:
                break
        if time.monotonic() > until:
            survey.complete = False
            return survey
    survey.add_rest(recognised)
    return survey


def _judge(scope: Scope, turn: SourceTurn) -> str:
    return judge_turn(scope, turn.memory).judgement.decision.value


def _name_speaker(turn: SourceTurn, speaker: str) -> SourceTurn:
    memory = turn.memory
    if memory.role != Role.USER or memory.speaker:
        return turn
    return replace(turn, memory=replace(memory, speaker=speaker))
