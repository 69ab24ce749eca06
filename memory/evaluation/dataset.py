"""Reads a dataset folder with corpus.jsonl, queries.jsonl and qrels.tsv; errors name file and line."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from memory.enums import Role
from memory.errors import InvalidInput
from memory.types import NewMemory

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
EVERY_GROUP = "*"
SHOWN_FAULTS = 20
# The limits of POST /v1/ingest and POST /v1/query.
MAX_TEXT_CHARS = 20_000
MAX_QUESTION_CHARS = 2_000
MAX_NAME_CHARS = 128

_AGENTS = ("assistant", "agent")
_MOMENTS = ("%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%d.%m.%Y, %H:%M:%S", "%Y年%m月%d日", "%Y年%m月%d日 %H:%M")
_CHINESE_WEEKDAY = re.compile(r"\s*(?:周|星期)[一二三四五六日天]\s*")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with the `grades` of document ids, above 0 for evidence. `group` may be EVERY_GROUP."""

    id: str
    group: str
    text: str
    type: str
    grades: dict[str, float]


@dataclass(slots=True)
class Dataset:
    """Documents by group, in the order of the file, and the questions that have evidence.

    Each document has its id in `metadata["doc_id"]`. `notes` say in words what was left out or cut.
    """

    name: str
    digest: str
    groups: dict[str, list[NewMemory]] = field(default_factory=dict)
    questions: list[AskedQuestion] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Faults(list[str]):
    """Problems found, each as `file line n: problem`."""

    def at(self, file: str, line: int, problem: str) -> None:
        self.append(f"{file} line {line}: {problem}")

    def raise_if_any(self, name: str) -> None:
        if self:
            more = f"\n… and {len(self) - SHOWN_FAULTS} more" if len(self) > SHOWN_FAULTS else ""
            raise InvalidInput(
                f"The dataset {name!r} cannot be used:\n" + "\n".join(self[:SHOWN_FAULTS]) + more,
                detail={"field": "dataset"},
            )


class _Wrong(Exception):
    """Raised for an unusable row; the message is the reason."""


def read_dataset(folder: Path) -> Dataset:
    """Read the dataset in `folder`. Raise InvalidInput, which names the wrong files and lines."""
    name = folder.resolve().name
    contents = {}
    for file in (CORPUS, QUERIES, QRELS):
        try:
            contents[file] = (folder / file).read_bytes()
        except OSError as error:
            raise InvalidInput(
                f"The dataset {name!r} cannot be used: {file} cannot be read ({error.strerror}). A dataset is a folder "
                f"with {CORPUS}, {QUERIES} and {QRELS}.",
                detail={"field": "dataset"},
            ) from error
    digest = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents.values())).hexdigest()
    dataset, faults = Dataset(name, digest), _Faults()
    documents = _read_corpus(contents[CORPUS], dataset, faults)
    grades = _read_qrels(contents[QRELS], faults)
    questions = _read_queries(contents[QUERIES], grades, dataset, faults)
    unknown = sum(identity not in documents for judged in grades.values() for identity in judged)
    if unknown:
        dataset.notes.append(f"evidence of {QRELS} that {CORPUS} does not have, counted as not found: {unknown}")
    lost = len(grades.keys() - questions)
    if lost:
        dataset.notes.append(f"questions of {QRELS} that {QUERIES} does not have: {lost}")
    faults.raise_if_any(name)
    if not dataset.questions:
        raise InvalidInput(
            f"The dataset {name!r} cannot be used: no question of {QUERIES} has evidence (a score above 0) in {QRELS}.",
            detail={"field": "dataset"},
        )
    return dataset


def _read_corpus(content: bytes, dataset: Dataset, faults: _Faults) -> set[str]:
    seen: dict[str, int] = {}
    cut = undated = 0
    for number, row in _rows(content, CORPUS, faults):
        try:
            identity, group = _identity(row, "_id"), _identity(row, "group")
            _once(seen, identity, number)
            text = _text(row)
            occurred_at = _moment(row.get("time"))
            # Some data sets call a session a batch.
            session = _name(row, "session") or _name(row, "batch") or "s1"
            speaker = _name(row, "speaker")
        except _Wrong as wrong:
            faults.at(CORPUS, number, str(wrong))
            continue
        cut += len(text) > MAX_TEXT_CHARS
        undated += row.get("time") is not None and occurred_at is None
        memory = NewMemory(
            session=session,
            role=Role.AGENT if speaker in _AGENTS else Role.USER,
            text=text[:MAX_TEXT_CHARS],
            speaker="" if speaker in (*_AGENTS, "user") else speaker,
            metadata={"doc_id": identity},
            occurred_at=occurred_at,
        )
        dataset.groups.setdefault(group, []).append(memory)
    if cut:
        dataset.notes.append(f"texts of {CORPUS} cut to the {MAX_TEXT_CHARS:,} characters that ingest takes: {cut}")
    if undated:
        dataset.notes.append(f"times of {CORPUS} that cannot be read (ISO 8601 can), counted as now: {undated}")
    return set(seen)


def _read_queries(content: bytes, grades: dict[str, dict[str, float]], dataset: Dataset, faults: _Faults) -> set[str]:
    seen: dict[str, int] = {}
    without = homeless = 0
    for number, row in _rows(content, QUERIES, faults):
        try:
            identity, group = _identity(row, "_id"), _identity(row, "group")
            _once(seen, identity, number)
            text = _text(row)
            kind = row.get("type")
            if kind is not None and not isinstance(kind, str):
                raise _Wrong("`type` must be a string")
            kind = _without_nul("type", kind or "")
        except _Wrong as wrong:
            faults.at(QUERIES, number, str(wrong))
            continue
        judged = grades.get(identity, {})
        if not any(grade > 0 for grade in judged.values()):
            without += 1
        elif group != EVERY_GROUP and group not in dataset.groups:
            homeless += 1
        else:
            dataset.questions.append(AskedQuestion(identity, group, text[:MAX_QUESTION_CHARS], kind, judged))
    if without:
        dataset.notes.append(f"questions without evidence in {QRELS}, left out: {without}")
    if homeless:
        dataset.notes.append(f"questions of a group without documents, left out: {homeless}")
    return set(seen)


def _read_qrels(content: bytes, faults: _Faults) -> dict[str, dict[str, float]]:
    grades: dict[str, dict[str, float]] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            query, document, grade = line.decode().rstrip("\r").split("\t")[:3]
            if number == 1 and grade == "score":
                continue
            grades.setdefault(query, {})[document] = _grade(grade)
        except UnicodeDecodeError:
            faults.at(QRELS, number, "is not UTF-8")
        except ValueError:
            faults.at(QRELS, number, "must be query-id, corpus-id and a number, with tabs between them")
    return grades


def _rows(content: bytes, file: str, faults: _Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            faults.at(file, number, f"is not JSON ({error})")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            faults.at(file, number, "must be a JSON object")


def _identity(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise _Wrong(f"`{name}` is missing" if value in (None, "") else f"`{name}` must be a string or a whole number")
    return _without_nul(name, str(value))


def _text(row: dict[str, Any]) -> str:
    text = row.get("text")
    if not isinstance(text, str) or not text.strip():
        raise _Wrong("`text` must be a string that says something")
    return _without_nul("text", text)


def _name(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int) or len(str(value)) > MAX_NAME_CHARS:
        raise _Wrong(f"`{name}` must be a string of up to {MAX_NAME_CHARS} characters")
    return _without_nul(name, str(value))


def _without_nul(name: str, value: str) -> str:
    if "\0" in value:
        raise _Wrong(f"`{name}` holds a NUL character")
    return value


def _once(seen: dict[str, int], identity: str, number: int) -> None:
    if identity in seen:
        raise _Wrong(f"the _id {identity!r} stands in line {seen[identity]} already")
    seen[identity] = number


def _moment(value: Any) -> datetime | None:
    """Parse a time as known data sets write it, in UTC without an offset; return None if it can't be read."""
    if not isinstance(value, str):
        return None
    value = _CHINESE_WEEKDAY.sub(" ", value).strip()
    for read in (datetime.fromisoformat, *(lambda text, f=form: datetime.strptime(text, f) for form in _MOMENTS)):
        try:
            moment = read(value)
        except ValueError:
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _grade(text: str) -> float:
    grade = float(text)
    if not math.isfinite(grade):
        raise ValueError
    return grade
