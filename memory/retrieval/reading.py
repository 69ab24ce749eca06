"""Reads the best candidates of a ranking as hits, in steps that do not depend on how many hits are requested.

Everything that moves a hit (its date, the reranker, the turn of a fact, variety) works on a whole step, or on all
candidates that could still overtake it. So the first hits are the same, however many are requested.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from memory.retrieval import rerank
from memory.retrieval.candidate_features import read_features
from memory.retrieval.columns.kept import KeptMemories
from memory.retrieval.facts import match_facts_to_turns, put_turns_first
from memory.retrieval.fusion import Candidate, Contribution, Ranking
from memory.retrieval.hits import Hit, read_hits
from memory.retrieval.near_duplicates import Variety, near_duplicates
from memory.retrieval.question import Question
from memory.retrieval.quotes import bring_sources, put_echoes_last
from memory.types import Scope

# The first step reads this many candidates; each further step reads as many as all steps before it.
FIRST_STEP = 24
# The least size of the first step for questions that ask for a time, so that it reaches hits that state one.
DATED_POOL = 60
# The cost, in score, of full likeness to a hit above, for questions that ask for many different memories.
SPREAD_WEIGHT = 0.1


class HitReader:
    """Reads the hits of a question step by step.

    `hits`: all hits read so far, best first. `again`: maps the place of a restatement to the place of the hit that it
    restates. `read`: the number of candidates read, including ones deleted meanwhile. `outside`: the number
    of memories read that were no candidates. `degraded`: codes of what did not work fully.
    """

    def __init__(
        self, scope: Scope, question: Question, ranking: Ranking, *,
        dates: bool, collapse: bool, kept: KeptMemories | None = None,
    ) -> None:  # fmt: skip
        """Takes the ranking; with `dates`, hits that say when something happened get a higher score.

        `collapse`: restatements count as one hit. Memories in the cache `kept` are not read again.
        """
        self._scope = scope
        self._question = question
        self._ranking = ranking
        self._dates = dates
        self._collapse = collapse
        self._kept = kept
        self._first = max(FIRST_STEP, rerank.pool_size(), DATED_POOL if dates else 0)
        self._by_id: dict[uuid.UUID, Hit] = {}
        # Sources that were read with the hits that quote them, before their own step.
        self._brought: set[uuid.UUID] = set()
        self.hits: list[Hit] = []
        self.again: dict[int, int] = {}
        self.read = 0
        self.outside = 0
        self.degraded: list[str] = []

    def read_on(self) -> bool:
        """Reads the next step; returns False if all candidates have been read."""
        if self.read >= len(self._ranking):
            return False
        first, end = self.read, 2 * self.read or self._first
        # Dates count in the first step only: further down, hits would overtake too many others by them.
        found = self._read(self._ranking.between(first, end), dates=self._dates and not first)
        found = bring_sources([hit for hit in found if hit.id not in self._brought], self._read_sources)
        self.read = end
        self._by_id |= {hit.id: hit for hit in found}
        self.hits += found
        if first:
            self._tell_once(len(self.hits) - len(found))
        return True

    def rerank_first(self) -> None:
        """Reranks the hits of the first step, if a reranker is configured, and sets `degraded`."""
        judged = rerank.rerank(self._question.text, [hit.text for hit in self.hits])
        self.degraded = judged.degraded
        best = [
            _with(hit, "rerank", Contribution(part.raw, None, part.weighted))
            for hit, part in zip(self.hits, judged.parts, strict=False)
        ]
        self._by_id |= {hit.id: hit for hit in best}
        # Hits that the reranker did not read stay behind the others.
        self.hits[: len(best)] = sorted(best, key=lambda hit: hit.score, reverse=True)

    def statements(self) -> Iterator[list[Hit]]:
        """Yields each statement once, best first, as its hit and the restatements read so far.

        If the question asks for many memories, likeness to a hit above costs score.
        """
        self._tell_once(0)
        for place, cost in self._vary() if self._question.wants.many else self._list_places():
            hit = self.hits[place]
            if cost:
                hit = _with(hit, "variety", Contribution(cost, None, -cost))
            yield [hit, *(self.hits[one] for one, earlier in self.again.items() if earlier == place)]

    def find(self, memory_id: uuid.UUID) -> Hit | None:
        """Returns the memory as a hit, whatever its place in the ranking, or None if it is gone by now.

        If it is not a candidate, its cosine is read; its words count for nothing, as for all memories that are not
        among the best by words.
        """
        if memory_id in self._by_id:
            return self._by_id[memory_id]
        place = self._ranking.place_of(memory_id)
        candidate = self._ranking.candidate(place) if place is not None else self._measure(memory_id)
        found = self._read([candidate], dates=self._dates) if candidate else []
        self._by_id |= {hit.id: hit for hit in found}
        return self._by_id.get(memory_id)

    def list_said_again(self, said_by: Mapping[uuid.UUID, uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
        """Maps the id of each hit that restates another to the id of the other.

        `said_by`: hits whose statement a successor makes, as in `Succession`.
        """
        found = {}
        for place, earlier in self.again.items():
            other, first = self.hits[place].id, self.hits[earlier].id
            first = said_by.get(first, first)
            if other != first:
                found[other] = first
        return found | dict(said_by)

    def list_unread(self, limit: int) -> list[Candidate]:
        """Lists up to `limit` candidates that were not read, best first."""
        unread = self._ranking.between(self.read, self.read + limit + len(self._brought))
        return [one for one in unread if one.memory_id not in self._brought][:limit]

    def _read_sources(self, ids: Sequence[uuid.UUID]) -> list[Hit]:
        """Reads the sources that are candidates and were not read yet, best first."""
        known = {hit.id for hit in self.hits}
        places = [self._ranking.place_of(one) for one in ids if one not in known]
        found = self._read(
            [self._ranking.candidate(one) for one in sorted(p for p in places if p is not None)], dates=False
        )
        self._brought |= {hit.id for hit in found}
        return found

    def _measure(self, memory_id: uuid.UUID) -> Candidate | None:
        found = read_features(self._scope, self._question, [str(memory_id)])
        self.outside += len(found.ids)
        return self._ranking.place_outside(memory_id, float(found.candidates.cosine[0])) if found.ids else None

    def _list_places(self) -> Iterator[tuple[int, float]]:
        for place in count():
            while place >= len(self.hits):
                if not self.read_on():
                    return
            if place not in self.again:
                yield place, 0.0

    def _vary(self) -> Iterator[tuple[int, float]]:
        """Yields places and costs by maximal marginal relevance over all candidates.

        It reads further steps while an unread candidate may score higher than the best hit that was read, less the cost
        of its likeness.
        """
        variety, added = Variety(SPREAD_WEIGHT), 0
        while True:
            for place in range(added, len(self.hits)):
                if place not in self.again:
                    variety.add(place, self.hits[place].memory.words, self.hits[place].score)
            added = len(self.hits)
            if self.read < len(self._ranking) and variety.best < self._ranking.candidate(self.read).score:
                self.read_on()
            elif (taken := variety.take()) is not None:
                yield taken
            else:
                return

    def _read(self, candidates: Sequence[Candidate], *, dates: bool) -> list[Hit]:
        return read_hits(self._scope, self._question, candidates, dates=dates, kept=self._kept)

    def _tell_once(self, start: int) -> None:
        """Finds the restatements among all hits; from `start` on, puts echoes last and turns before their facts."""
        if not self._collapse:
            return
        self.hits[start:] = put_turns_first(put_echoes_last(self._question.text, self.hits[start:]))
        again = near_duplicates([hit.memory.words for hit in self.hits])
        self.again = again | match_facts_to_turns(self.hits, again)


def _with(hit: Hit, name: str, part: Contribution) -> Hit:
    return Hit(hit.memory, hit.candidate.with_part(name, part), hit.overlap)
