"""Reads question sets in the formats they are published in: LoCoMo, LongMemEval, PrefEval and PersonaMem.

- LoCoMo: a JSON list of conversations, each with `conversation` and `qa`.
- LongMemEval: a JSON list of questions, each with its own `haystack_sessions`.
- PrefEval: a JSON list of preferences (one file per topic), explicit or with the `conversation` that implies them.
- PersonaMem: `questions_SIZE.csv`, and `shared_contexts_SIZE.jsonl` in the same folder.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from memory.enums import AnswerCriterion, Role
from memory.errors import InvalidInput
from memory.evaluation.dataset import MAX_NAME_CHARS, MAX_QUESTION_CHARS, MAX_TEXT_CHARS
from memory.types import NewMemory

FORMATS = ("locomo", "longmemeval", "prefeval", "personamem")

_LOCOMO_TYPES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
_LOCOMO_MOMENT = "%I:%M %p on %d %B, %Y"
_LONGMEMEVAL_MOMENT = "%Y/%m/%d (%a) %H:%M"
_ABSTENTION = "_abs"
_ROLES = {"user": Role.USER, "assistant": Role.AGENT, "system": Role.SYSTEM}


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its expected answer, and the criterion to judge by.

    `options` are the answers to choose from, each with its letter, if it is a choice; `gold` is then the letter.
    `asked_at` (timezone-aware) is when it is asked, None for now.
    """

    id: str
    text: str
    type: str
    gold: str
    criterion: AnswerCriterion
    options: tuple[str, ...] = ()
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class QuestionHistory:
    """The memories of one namespace in order, and the questions to ask afterwards."""

    name: str
    memories: Sequence[NewMemory]
    questions: Sequence[GoldQuestion]


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set of questions; `histories` reads them one after the other, and `total` is the number of questions."""

    name: str
    format: str
    digest: str
    total: int
    histories: Callable[[], Iterator[QuestionHistory]]


def read_published(path: Path) -> PublishedSet:
    """Read the set in the file `path`, whose format is detected by content.

    Raise InvalidInput for a file that can't be read, has none of FORMATS, or lacks required fields.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unusable(path, f"it cannot be read ({error.strerror})") from error
    if path.suffix == ".csv":
        return _personamem(path, content)
    try:
        rows = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise _unusable(path, f"it is no JSON ({error})") from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise _unusable(path, "it is no list of JSON objects")
    for form, field, read in (
        ("locomo", "qa", _locomo),
        ("longmemeval", "haystack_sessions", _longmemeval),
        ("prefeval", "preference", _prefeval),
    ):
        if field in rows[0]:
            histories = _add_checks(path, form, partial(read, path.stem, rows))
            return PublishedSet(path.stem, form, _digest(content), _total(histories()), histories)
    raise _unusable(path, f"its rows are of none of the forms {', '.join(FORMATS)}")


def _locomo(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[QuestionHistory]:
    for number, row in enumerate(rows):
        group = str(row.get("sample_id") or f"{name}-{number}")
        talk = row["conversation"]
        sessions = sorted(
            (int(key.removeprefix("session_")), turns)
            for key, turns in talk.items()
            if key.removeprefix("session_").isdigit()
        )
        memories = [
            _turn(
                f"session_{session}",
                Role.USER,
                _with_image(turn),
                speaker=turn["speaker"],
                said=_moment(talk[f"session_{session}_date_time"], _LOCOMO_MOMENT),
            )
            for session, turns in sessions
            for turn in turns
        ]
        questions = [_locomo_question(f"{group}/{place}", one) for place, one in enumerate(row["qa"])]
        yield QuestionHistory(group, memories, questions)


def _locomo_question(identity: str, row: Mapping[str, Any]) -> GoldQuestion:
    kind = _LOCOMO_TYPES[row["category"]]
    criterion = AnswerCriterion.ABSTAIN if kind == "adversarial" else AnswerCriterion.ANSWER
    return GoldQuestion(identity, _question(row["question"]), kind, str(row.get("answer", "")), criterion)


def _with_image(turn: Mapping[str, Any]) -> str:
    text = str(turn.get("text") or "")
    caption = turn.get("blip_caption")
    return f"{text} [shared image: {caption}]".strip() if caption else text


def _longmemeval(_: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[QuestionHistory]:
    for row in rows:
        identity = str(row["question_id"])
        asked_at = _moment(row["question_date"], _LONGMEMEVAL_MOMENT)
        sessions = zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True)
        memories = [
            _turn(session, _ROLES[turn["role"]], turn["content"], said=_moment(day, _LONGMEMEVAL_MOMENT))
            for session, day, turns in sessions
            for turn in turns
        ]
        question = GoldQuestion(
            identity,
            _question(row["question"]),
            "abstention" if identity.endswith(_ABSTENTION) else row["question_type"],
            str(row["answer"]),
            _longmemeval_criterion(identity, row["question_type"]),
            asked_at=asked_at,
        )
        yield QuestionHistory(identity, memories, [question])


def _longmemeval_criterion(identity: str, kind: str) -> AnswerCriterion:
    if identity.endswith(_ABSTENTION):
        return AnswerCriterion.ABSTAIN
    return {
        "temporal-reasoning": AnswerCriterion.TIME,
        "knowledge-update": AnswerCriterion.UPDATE,
        "single-session-preference": AnswerCriterion.PREFERENCE,
    }.get(kind, AnswerCriterion.ANSWER)


def _prefeval(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[QuestionHistory]:
    for number, row in enumerate(rows):
        identity = f"{name}/{number}"
        memories = [_turn("s1", role, text) for role, text in _list_preference_turns(row)]
        question = GoldQuestion(
            identity, _question(row["question"]), name, str(row["preference"]), AnswerCriterion.PREFERENCE
        )
        yield QuestionHistory(identity, memories, [question])


def _list_preference_turns(row: Mapping[str, Any]) -> list[tuple[Role, str]]:
    """Return the turns that show the preference: a statement, a choice among options, or an implicit conversation."""
    talk = row.get("conversation")
    if not isinstance(talk, dict):
        return [(Role.USER, str(row["preference"]))]
    if "query" in talk:
        turns = (
            (Role.USER, talk["query"]),
            (Role.AGENT, talk["assistant_options"]),
            (Role.USER, talk["user_selection"]),
            (Role.AGENT, talk.get("assistant_acknowledgment")),
        )
        return [(role, str(text)) for role, text in turns if text]
    ordered = sorted(talk.items(), key=lambda item: int(item[0]))
    return [(role, str(turn[key])) for _, turn in ordered for key, role in _ROLES.items() if turn.get(key)]


def _personamem(path: Path, content: bytes) -> PublishedSet:
    contexts_path = path.with_name(path.name.replace("questions", "shared_contexts")).with_suffix(".jsonl")
    try:
        contexts_content = contexts_path.read_bytes()
        rows = list(csv.DictReader(content.decode().splitlines(keepends=True)))
        contexts: dict[str, list[Mapping[str, Any]]] = {}
        for line in contexts_content.splitlines():
            contexts |= json.loads(line)
    except OSError as error:
        raise _unusable(path, f"{contexts_path.name} cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, ValueError, TypeError) as error:
        raise _unusable(path, f"it or {contexts_path.name} is damaged ({error})") from error

    def read() -> Iterator[QuestionHistory]:
        places: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
        for row in rows:
            places.setdefault((row["shared_context_id"], int(row["end_index_in_shared_context"])), []).append(row)
        for (context, end), asked in places.items():
            memories = [_turn("s1", _ROLES[turn["role"]], turn["content"]) for turn in contexts[context][:end]]
            yield QuestionHistory(f"{context}-{end}", memories, [_choice(row) for row in asked])

    histories = _add_checks(path, "personamem", read)
    return PublishedSet(path.stem, "personamem", _digest(content + contexts_content), _total(histories()), histories)


def _choice(row: Mapping[str, Any]) -> GoldQuestion:
    options = row["all_options"]
    try:
        read = ast.literal_eval(options)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"question {row['question_id']} has no list of options") from error
    return GoldQuestion(
        str(row["question_id"]),
        _question(row["user_question_or_message"]),
        row["question_type"],
        str(row["correct_answer"]).strip("() ").lower(),
        AnswerCriterion.CHOICE,
        tuple(str(option) for option in read),
    )


def _turn(session: str, role: Role, text: str, *, speaker: str = "", said: datetime | None = None) -> NewMemory:
    return NewMemory(
        session=str(session)[:MAX_NAME_CHARS],
        role=role,
        text=str(text).replace("\0", " ")[:MAX_TEXT_CHARS],
        speaker=speaker,
        occurred_at=said,
    )


def _question(text: str) -> str:
    return str(text).replace("\0", " ")[:MAX_QUESTION_CHARS]


def _moment(text: str, form: str) -> datetime:
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def _add_checks(
    path: Path, form: str, read: Callable[[], Iterator[QuestionHistory]]
) -> Callable[[], Iterator[QuestionHistory]]:
    """Wrap `read` to report the place of a row that lacks something, and to drop empty turns."""

    def histories() -> Iterator[QuestionHistory]:
        found = read()
        number = 0
        while True:
            try:
                one = next(found, None)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                reason = f"a field is missing: {error}" if isinstance(error, KeyError) else str(error)
                raise _unusable(path, f"as {form}, after {number} conversations: {reason}") from error
            if one is None:
                return
            number += 1
            memories = [memory for memory in one.memories if memory.text.strip()]
            yield QuestionHistory(one.name, memories, one.questions)

    return histories


def _total(histories: Iterator[QuestionHistory]) -> int:
    return sum(len(one.questions) for one in histories)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _unusable(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"The question set {path.name!r} cannot be used: {reason}.", detail={"field": "answers"})
