"""Finds the candidates of a question: in the columns that this process holds of the namespace, or else by SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from memory.retrieval.arms import preferences as preference_arm
from memory.retrieval.candidate_features import LEXICAL_POOL, Found, KnownValues, find_by_meaning
from memory.retrieval.columns import candidates as column_search
from memory.retrieval.columns.kept import KeptMemories
from memory.retrieval.columns.load import Changes
from memory.retrieval.columns.store import columns_for
from memory.retrieval.named_words import find_named_words
from memory.retrieval.question import Question
from memory.retrieval.step_clock import StepClock
from memory.types import Scope


def find(
    scope: Scope,
    question: Question,
    *,
    taking_part: Collection[str],
    pool: int,
    clock: StepClock,
    changes: Changes | None = None,
) -> tuple[Found, KeptMemories | None]:
    """Finds the candidates of a question; `pool`: the least number of memories from each retriever.

    `changes`: as `columns_for` takes them. Returns also the memories that were read as hits before, if the columns have
    some.
    """
    preferences: dict[str, float] = {}
    if "preference" in taking_part and question.tells_preferences:
        with clock.step("preferences"):
            preferences = preference_arm.match(scope, question)
    with columns_for(scope, question, changes) as held:
        if held is not None:
            columns, statistics = held
            with clock.step("columns"):
                found = column_search.find(
                    columns, statistics, question, taking_part=taking_part, pool=pool, preferences=preferences
                )
            return found, columns.kept
    return _find_by_sql(scope, question, taking_part, preferences, pool=pool, clock=clock), None


def _find_by_sql(
    scope: Scope,
    question: Question,
    taking_part: Collection[str],
    preferences: Mapping[str, float],
    *,
    pool: int,
    clock: StepClock,
) -> Found:
    """Finds them by two statements. The first one runs while the question's vector is being made; the speakers that it
    finds named change that vector."""
    with clock.step("words"):
        named = find_named_words(
            scope, question, taking_part=taking_part, limit=max(LEXICAL_POOL, pool), most_retired=pool
        )
    question = question.naming(named.speakers)
    # Waited for here, so that the time of the search by meaning does not include it.
    with clock.step("vector"):
        _ = question.vector
    known = KnownValues(named.bm25, named.mentions, preferences)
    with clock.step("meaning"):
        features, near = find_by_meaning(scope, question, known, taking_part=taking_part, pool=pool)
    ranks = {}
    if "lexical" in taking_part:
        ranks["lexical"] = {hit.memory_id: hit.rank for hit in named.by_words.hits}
    if "dense" in taking_part:
        ranks["dense"] = near
    return Found(question, features, named.by_words, ranks)
