"""Asks a configured language model about the pairs that the rules of settling are unsure of, and applies its verdicts
that pass the check. Runs in the background only.

The model sees only pairs that the rules proposed, and has only the effects that rules have: a verdict that the newer
statement replaces the older is stored as a rule's is (`outcome.store_outcome`), with the same guards and the same ways
to undo it. The model treats words as data; one question holds only words of one namespace and the same people, so that
one person's words cannot decide about another's.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from memory import caller
from memory.enums import LinkKind, MemoryState, PairVerdict, Review
from memory.errors import BudgetExceeded, InvalidInput, LLMRefused, LLMUnavailable
from memory.governance.settling import Decision, Linked, Retired, Settled
from memory.governance.update_score import find_obstacle
from memory.models import Memory, MemoryLink, UnsurePair
from memory.models.locks import Lock, try_lock
from memory.models.memory import spans_of
from memory.providers.llm_settling import LLMJudge, PairOpinion, PromptStatement
from memory.services.memories.change import MAX_REASON_CHARS, check_reason
from memory.services.memories.comparison import MemoryComparison, statements_of
from memory.services.memories.outcome import person_said_both_hold, store_outcome
from memory.services.memories.retire import ACTOR, JUDGED
from memory.services.memories.unsure_pairs import judge_of, texts_hash
from memory.services.tenancy.policy import in_force
from memory.stores import model_calls
from memory.text.utterances import Statement
from memory.types import Scope

log = logging.getLogger("memos.settling")

# Limits of one question to the model: pairs, and characters of context shown before a statement.
AT_ONCE = 5
BEFORE_CHARS = 300
# A checked verdict has the confidence of a rule that another one could contradict.
CONFIDENCE = 0.8
# A pair without an answer is retried after 2 minutes, then with doubled delays, at most this often (some 17 h).
MOST_ATTEMPTS = 10
FIRST_DELAY = timedelta(minutes=2)
# Pairs that the gate suspects of prompt injection wait until a person has reviewed them.
SUSPECTED_DELAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Case:
    """Holds a pair with its memories, its statements and their surroundings, as they are now."""

    pair: UnsurePair
    scope: Scope
    older: Memory
    newer: Memory
    old: Statement
    said: Statement

    @property
    def words(self) -> str:
        """Return the older words, which may no longer hold."""
        return " ".join(self.older.text[self.pair.start : self.pair.end].split())

    @property
    def people(self) -> tuple[int, frozenset[tuple[str, str]]]:
        """Return the namespace and the people of the words: pairs are judged together only when these are the same."""
        both = ((one.speaker, str(one.metadata.get("user_id", one.metadata.get("user")))) for one in self.memories)
        return self.scope.namespace_id, frozenset(both)

    @property
    def memories(self) -> tuple[Memory, Memory]:
        return self.older, self.newer


def judge_due(*, now: datetime, seconds: float = float("inf")) -> int:
    """Have the waiting pairs judged, at most as many as a run may; return how many got a verdict.

    Begins no further question after `seconds`, nor once the model is away. Only one run works at a time; a second one
    does nothing, and neither does a run without a model.
    """
    deadline = time.monotonic() + seconds
    total = 0
    if not (settings.MEMOS_LLM_ENABLED and settings.MEMOS_LLM_SETTLING):
        return total
    with try_lock(Lock.JUDGE) as only:
        for cases in _questions(_due(now)) if only else ():
            if time.monotonic() > deadline:
                break
            judge = judge_of(cases[0].scope.namespace_id)
            if judge is None:
                continue
            try:
                with caller.within_namespace(cases[0].scope.namespace_id):
                    verdicts = judge.judge([_excerpts(case) for case in cases])
            except BudgetExceeded as error:
                # These pairs wait for the budget, and other namespaces do not wait for them.
                log.warning("pairs are not judged yet", extra={"reason": error.message, "model": judge.name})
                for case in cases:
                    _row(case.pair).update(due_at=now + FIRST_DELAY)
                continue
            except LLMUnavailable as error:
                log.warning("the language model judged no pairs", extra={"reason": error.message, "model": judge.name})
                _ask_later([case.pair for case in cases], now=now)
                if isinstance(error, LLMRefused):
                    continue
                break
            model_calls.note_answer(model_calls.LANGUAGE)
            for case, verdict in zip(cases, verdicts, strict=True):
                total += _take(case, verdict, judge, now=now)
    return total


def _due(now: datetime) -> list[_Case]:
    """Load the pairs that may be judged now. Deletes outdated pairs: comparing finds them again."""
    open_pairs = UnsurePair.objects.across_namespaces().filter(verdict="", due_at__lte=now)
    spaces = open_pairs.order_by().values_list("namespace_id", flat=True).distinct()
    off = [one for one in spaces if not in_force(one).policy.settle_conflicts]
    limit = settings.MEMOS_LLM_SETTLING_PER_RUN
    # Take pairs of the namespaces in turn, so that a namespace with many pairs delays no other.
    place = Window(RowNumber(), partition_by=[F("namespace_id")], order_by=["due_at", "id"])
    waiting = open_pairs.exclude(namespace_id__in=off).annotate(place=place).order_by("place", "due_at", "id")
    found = list(waiting.values_list("pk", flat=True)[:limit])
    pairs = UnsurePair.objects.across_namespaces().filter(pk__in=found).select_related("namespace")
    named = {one for pair in pairs for one in (pair.older_id, pair.newer_id)}
    memories = {one.pk: one for one in Memory.objects.filter(pk__in=named, namespace_id__in={*spaces})}
    cases = []
    for pair in sorted(pairs, key=lambda one: found.index(one.pk)):
        case = _case(pair, memories)
        if case is None:
            _row(pair).delete()
        elif any(one.review == Review.SUSPECTED for one in case.memories):
            _row(pair).update(due_at=now + SUSPECTED_DELAY)
        else:
            cases.append(case)
    return cases


def _case(pair: UnsurePair, memories: Mapping[uuid.UUID, Memory]) -> _Case | None:
    """Load the pair as it is now; None when one of the two says something else, no longer holds or is away, or when a
    person has said that both hold.
    """
    older, newer = memories.get(pair.older_id), memories.get(pair.newer_id)
    scope = Scope(pair.namespace_id, pair.namespace.name, ACTOR)
    if older is None or newer is None or {older.namespace_id, newer.namespace_id} != {pair.namespace_id}:
        return None
    if any(one.state != MemoryState.ACTIVE or one.superseded_by is not None for one in (older, newer)):
        return None
    if bytes(pair.texts_hash) != texts_hash(older, newer) or person_said_both_hold(scope, newer.pk, older.pk):
        return None
    if any(first < pair.end and pair.start < last for first, last in spans_of(older.retired_spans)):
        return None
    old = next((one for one in statements_of(older) if one.start <= pair.start and pair.end <= one.end), None)
    said = next((one for one in statements_of(newer) if (one.start, one.end) == (pair.by_start, pair.by_end)), None)
    return _Case(pair, scope, older, newer, old, said) if old and said else None


def _questions(cases: Iterable[_Case]) -> Iterator[Sequence[_Case]]:
    """Group the cases into questions for the model: at most AT_ONCE, of the same people."""
    groups: dict[tuple[int, frozenset[tuple[str, str]]], list[_Case]] = {}
    for case in cases:
        groups.setdefault(case.people, []).append(case)
    for group in groups.values():
        for first in range(0, len(group), AT_ONCE):
            yield group[first : first + AT_ONCE]


def _excerpts(case: _Case) -> tuple[PromptStatement, PromptStatement]:
    """Return the older words and the newer statement as the model reads them."""
    return _build_statement(case.older, case.words, case.pair.start), _build_statement(
        case.newer, case.said.text, case.said.start
    )


def _build_statement(memory: Memory, words: str, start: int) -> PromptStatement:
    before = " ".join(memory.text[max(0, start - BEFORE_CHARS) : start].split())
    return PromptStatement(memory.speaker or memory.role, memory.occurred_at.date().isoformat(), before, words)


def _take(case: _Case, verdict: PairOpinion | None, judge: LLMJudge, *, now: datetime) -> bool:
    """Apply the verdict, if it passes the check; return whether the pair is decided."""
    if verdict is None:
        _ask_later([case.pair], now=now)
        return False
    problem, reason = _problem(case, verdict), ""
    if not problem:
        try:
            reason = check_reason(verdict.reason[:MAX_REASON_CHARS])
        except InvalidInput:
            problem = "its reason is none that may be shown"
    if problem:
        log.warning("a verdict was dropped", extra={"reason": problem, "model": judge.name, "pair": str(case.pair.pk)})
        _decide(case.pair, PairVerdict.REFUSED, judge, now=now)
        return True
    with transaction.atomic():
        if verdict.replaces and not _replace(case, judge, now=now):
            return False
        if not verdict.replaces and not _keep_both(case):
            return False
        decided = PairVerdict.REPLACES if verdict.replaces else PairVerdict.BOTH_HOLD
        _decide(case.pair, decided, judge, reason=reason, now=now)
    return True


def _problem(case: _Case, verdict: PairOpinion) -> str:
    """Return why a verdict is rejected; '' when it passes: its values are words of the two statements, and nothing in
    them speaks of another holder or thing.
    """
    if not verdict.replaces:
        return ""
    if not any(character.isalnum() for character in verdict.old_value):
        return "it names no value that holds no longer"
    if not _says(case.words, verdict.old_value):
        return "the value that holds no longer does not stand in the older words"
    if verdict.new_value and not _says(case.said.text, verdict.new_value):
        return "the value that holds now does not stand in the newer statement"
    if verdict.old_value == verdict.new_value:
        return "both values are the same"
    if case.said.speaker != case.old.speaker:
        return "another speaker said it"
    obstacle = find_obstacle(case.said.text, case.words)
    return f"the two statements don't fit: {obstacle}" if obstacle else ""


def _says(words: str, value: str) -> bool:
    """Return whether `value` stands in `words`, letter by letter and not as a part of a longer word."""
    at = words.find(value)
    while at >= 0:
        end = at + len(value)
        if not _joins(words[at - 1 : at], value[0]) and not _joins(value[-1], words[end : end + 1]):
            return True
        at = words.find(value, at + 1)
    return False


def _joins(first: str, second: str) -> bool:
    return all(one.isascii() and one.isalnum() for one in (first, second))


def _replace(case: _Case, judge: LLMJudge, *, now: datetime) -> bool:
    """Store the result as a sure rule would; False when one of the two was changed meanwhile."""
    pair, decision = case.pair, Decision(JUDGED, CONFIDENCE)
    settled: Settled[uuid.UUID] = Settled()
    settled.linked.append(Linked(pair.older_id, pair.start, pair.end, case.said, decision))
    if pair.can_cut:
        settled.retired.append(Retired(pair.older_id, pair.start, pair.end, case.said, decision))
    comparison = MemoryComparison(case.scope, case.newer, earlier=[case.older], settled=settled, judge=judge.name)
    if not store_outcome(comparison, now=now):
        return False
    _links(pair).update(reason=JUDGED, confidence=CONFIDENCE)
    return True


def _keep_both(case: _Case) -> bool:
    """Remove the link that says that the newer memory replaces these words; False when one was changed meanwhile."""
    pair = case.pair
    rows = Memory.objects.in_scope(case.scope).filter(pk__in=[pair.older_id, pair.newer_id]).order_by("pk")
    locked = {one.pk: one for one in rows.select_for_update(of=("self",))}
    if _case(pair, locked) is None:
        return False
    _links(pair).delete()
    return True


def _links(pair: UnsurePair) -> QuerySet[MemoryLink]:
    """Return the link that the rules made of the pair."""
    links = MemoryLink.objects.filter(namespace_id=pair.namespace_id, memory_id=pair.newer_id, other_id=pair.older_id)
    return links.filter(kind=LinkKind.SUPERSEDES, actor=ACTOR, start=pair.start)


def _ask_later(pairs: Sequence[UnsurePair], *, now: datetime) -> None:
    """Schedule another question about each pair, at most MOST_ATTEMPTS. The links that the rules made remain."""
    for pair in pairs:
        attempts = pair.attempts + 1
        verdict = PairVerdict.UNANSWERED if attempts >= MOST_ATTEMPTS else ""
        _row(pair).update(attempts=attempts, verdict=verdict, due_at=now + FIRST_DELAY * 2 ** (attempts - 1))


def _decide(pair: UnsurePair, verdict: PairVerdict, judge: LLMJudge, *, reason: str = "", now: datetime) -> None:
    _row(pair).update(verdict=verdict, explanation=reason, judge=judge.name[:100], judged_at=now)


def _row(pair: UnsurePair) -> QuerySet[UnsurePair]:
    return UnsurePair.objects.filter(namespace_id=pair.namespace_id, pk=pair.pk)
