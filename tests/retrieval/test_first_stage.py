"""The first stage of retrieval, from which rankings are learned."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from memory.retrieval.pipeline import first_stage, retrieve
from memory.services.recall.search import Ask, questions

SAID = ["The kiln is hot at noon.", "The kiln was repaired yesterday.", "When is the kiln hot?", "It rained."]


def test_weights_times_values_are_the_scores_of_the_ranking(alice, remember) -> None:
    for text in SAID:
        remember(alice, text, speaker="Ann" if text.endswith("?") else "Tove")
    (question,) = questions([Ask("When was the kiln repaired, Tove?", 2, timezone.now())])

    ranking, hits = first_stage(alice.scope, question)

    assert len(ranking) == len(ranking.ids) == len(SAID)
    assert set(ranking.values) == set(ranking.weights) >= {"dense", "lexical", "people", "neighbours"}
    scores = sum(ranking.weights[name] * value for name, value in ranking.values.items())
    for place, row in enumerate(ranking.order):
        assert ranking.candidate(place).memory_id == uuid.UUID(ranking.ids[row])
        assert ranking.candidate(place).score == pytest.approx(scores[row])
    dated = {hit.text: hit.candidate.parts["dated"].raw for hit in hits if "dated" in hit.candidate.parts}
    assert dated == {"The kiln was repaired yesterday.": 1.0}
    assert "dated" not in ranking.values


def test_it_is_what_retrieve_starts_from(alice, remember) -> None:
    for text in SAID:
        remember(alice, text)
    (question,) = questions([Ask("Is the kiln hot?", 2, timezone.now())])
    _, hits = first_stage(alice.scope, question)
    found = retrieve(alice.scope, question, top_k=3).hits
    # The first stage ranks an earlier question by its score; `retrieve` puts it behind everything that may answer.
    assert hits[1].text == "When is the kiln hot?"
    expected = [hits[0], *hits[2:], hits[1]]
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in expected[:3]]
    assert len(hits) == len(SAID)
