"""Represents a question as retrievers and signals see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np

from memory.kinds import KIND_SQL
from memory.providers.embedding.interface import Pending
from memory.retrieval.entity_matches import name_keys
from memory.retrieval.predicate import SqlCondition
from memory.text.analysis import terms_of_question
from memory.text.asking import asks_agent, asks_for_many, asks_for_recent
from memory.text.requests import asks_for_advice
from memory.text.timespan import Span, asks_when, spans


@dataclass(frozen=True, slots=True)
class Wants:
    """Holds which kinds of answer a question asks for: a time, the newest, many memories, the agent's words, advice."""

    when: bool = False
    recent: bool = False
    many: bool = False
    agent: bool = False
    advice: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Holds a question.

    - `terms`: its distinct index terms, in order.
    - `embedded`: its vector, which may still be computed in another thread.
    - `model_id`: the stored embedding model of the vector.
    - `familiarity`: how far (0..1) the vector can be trusted.
    - `predicate`: the condition that memories must meet (None: all are searched).
    - `spans`: the times that it names.
    - `holding_at`: memories that were over by then are left out (None: the predicate decides which ones hold).
    - `as_of`: texts are read as they were known then. `valid_at`: statements that were over by then are left out.
    - `requests`: vectors of requests of all kinds, float32 [requests, dimensions], by which the generality of a
      preference is measured; None if preferences are not to be shown.
    - `name_keys`: keys of names that the text may contain (`entity_matches`).
    - `named`: the keys of names that belong to speakers, and these speakers' own keys, once looked up (`naming`).
    - `take_out_speakers`: takes what such keys add to the vectors of their speakers' memories out of its vector; None
      for a model for which this was not measured.
    """

    text: str
    terms: list[str]
    embedded: np.ndarray | Pending
    model_id: int
    familiarity: float
    predicate: SqlCondition | None
    wants: Wants
    spans: list[Span]
    holding_at: datetime | None
    as_of: datetime | None
    valid_at: datetime | None = None
    requests: np.ndarray | None = None
    name_keys: Sequence[str] = ()
    named: frozenset[str] = frozenset()
    take_out_speakers: Callable[[Sequence[str], np.ndarray], np.ndarray] | None = None

    def naming(self, speakers: frozenset[str]) -> Question:
        """Returns the question as naming the speakers with these keys, whose names are taken out of its vector."""
        if not speakers or self.take_out_speakers is None:
            return replace(self, named=speakers)
        nameless = _Nameless(self.embedded, partial(self.take_out_speakers, sorted(speakers)))
        return replace(self, named=speakers, embedded=nameless)

    @property
    def is_calibrated(self) -> bool:
        """Tells whether the relevance of hits was learned with the model of its vector."""
        return self.take_out_speakers is not None

    @property
    def tells_preferences(self) -> bool:
        """Tells whether preferences are returned with the hits: it asks for advice, and preferences are enabled."""
        return self.wants.advice and self.requests is not None

    @property
    def searches_preferences(self) -> bool:
        """Tells whether preferences are searched: they are returned, or the filter names kinds of memories."""
        return self.tells_preferences or (self.predicate is not None and KIND_SQL in self.predicate.sql)

    @property
    def vector(self) -> np.ndarray:
        """Returns the vector, float32 [dimensions], and waits if it is still being computed.

        Its length times the cosine to a memory's vector says how near the memory is.

        Names of speakers are taken out (`naming`): turns are embedded with their speaker's name in front, and short
        lines mean little else, so greetings of a named speaker would be nearer to the question than the answer.

        Raises EmbeddingUnavailable.
        """
        return self.embedded if isinstance(self.embedded, np.ndarray) else self.embedded.result()

    @property
    def length(self) -> float:
        """Returns the length of its vector."""
        return float(np.linalg.norm(self.vector))

    @property
    def kept(self) -> float:
        """Returns the cosine (0..1) of the vector without names of speakers to the vector with them."""
        return self.embedded.kept if isinstance(self.embedded, _Nameless) else 1.0


class _Nameless:
    """Computes a question's vector without the names of speakers, which `take_out` takes out of it, on first use."""

    def __init__(self, whole: np.ndarray | Pending, take_out: Callable[[np.ndarray], np.ndarray]) -> None:
        self._whole = whole
        self._take_out = take_out
        self._vector: np.ndarray | None = None
        self.kept = 1.0

    def result(self) -> np.ndarray:
        if self._vector is None:
            whole = self._whole if isinstance(self._whole, np.ndarray) else self._whole.result()
            vector = self._take_out(whole)
            self.kept = float(np.clip(whole @ vector / np.linalg.norm(whole) / np.linalg.norm(vector), 0.0, 1.0))
            self._vector = vector
        return self._vector


def question(
    text: str,
    *,
    vector: np.ndarray | Pending,
    model_id: int,
    familiarity: float,
    now: datetime,
    predicate: SqlCondition | None = None,
    holding_at: datetime | None = None,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
    requests: np.ndarray | None = None,
    take_out_speakers: Callable[[Sequence[str], np.ndarray], np.ndarray] | None = None,
) -> Question:
    """Makes a question of its text; relative times such as "last week" count from `now`, in the time zone of `now`.

    `vector` may still be computed in another thread, while the words of the question are searched.
    """
    wants = Wants(
        when=asks_when(text),
        recent=asks_for_recent(text),
        many=asks_for_many(text),
        agent=asks_agent(text),
        advice=asks_for_advice(text),
    )
    return Question(
        text=text,
        terms=list(dict.fromkeys(terms_of_question(text))),
        embedded=vector,
        model_id=model_id,
        familiarity=familiarity,
        predicate=predicate,
        wants=wants,
        spans=spans(text, now, now.tzinfo or UTC),
        holding_at=holding_at,
        as_of=as_of,
        valid_at=valid_at,
        requests=requests,
        name_keys=name_keys(text),
        take_out_speakers=take_out_speakers,
    )
