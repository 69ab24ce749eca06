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
    """Finds the candidates of a question; returns them with the columns' cache of memories, None without columns.

    `pool`: the least number of memories that each retriever looks for. `changes`: see `columns_for`.
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
    """Finds the candidates by two statements.

    The first runs while the question's vector is computed, and finds the speakers that the question names; their names
    are then taken out of the vector.
    """
    with clock.step("words"):
        named = find_named_words(
            scope, question, taking_part=taking_part, limit=max(LEXICAL_POOL, pool), most_retired=pool
        )
    question = question.naming(named.speakers)
    # Waiting for the vector is a separate step, so that the time of the search by meaning does not include it.
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
