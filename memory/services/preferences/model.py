"""Has a language model read preferences in turns, and checks and counts its answers one by one."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.enums import FactRefusal, PreferenceSource
from memory.errors import LLMRefused
from memory.models import Memory
from memory.providers.llm_preferences import MAX_PREFERENCES, LLMPreferenceReader, ReadTurn
from memory.services.facts.store import turn_of
from memory.services.preferences.choices import ChoiceEvidence, find_earlier, keep_enough, place_of
from memory.services.preferences.store import NewPreference
from memory.stores import model_calls
from memory.text.choice_evidence import check_choice
from memory.text.preferences import check_preference
from memory.types import Scope

log = logging.getLogger("memos.preferences")

# The most earlier turns of the same speakers that the model may read for choices.
EARLIER_TURNS = 24


@dataclass(slots=True)
class ModelReading:
    """The statements and choices of a model's answer that the turns support, and the reasons why the rest was rejected.

    `answered`: whether its answer was usable; otherwise only rules read the turns.
    """

    stated: list[NewPreference] = field(default_factory=list)
    choices: list[ChoiceEvidence] = field(default_factory=list)
    refused: Counter[FactRefusal] = field(default_factory=Counter)
    answered: bool = True


def read_by_model(scope: Scope, reader: LLMPreferenceReader, told: Sequence[Memory]) -> ModelReading:
    """Have the model read turns of people, with earlier turns of the same people.

    A useless answer is logged and marked in the result. Raises LLMUnavailable when the model does not answer.
    """
    earlier = find_earlier(scope, told, limit=EARLIER_TURNS)
    rows = [*earlier, *told]
    occasions: dict[tuple[str, str], int] = {}
    turns = [ReadTurn(turn_of(row), occasions.setdefault(place_of(row), len(occasions) + 1)) for row in rows]
    try:
        answered = reader.read_preferences(turns, first_new=len(earlier))
    except LLMRefused as refusal:
        log.warning(
            "a language model read preferences to no use; what rules read stands",
            extra={"namespace_id": scope.namespace_id, "turns": len(told), "reason": refusal.message},
        )
        return ModelReading(answered=False)
    model_calls.note_answer(model_calls.LANGUAGE)
    reading = ModelReading()
    reading.refused[FactRefusal.MALFORMED] += max(0, len(answered) - MAX_PREFERENCES)
    said = [read.turn for read in turns]
    choices: list[ChoiceEvidence] = []
    for raw in answered[:MAX_PREFERENCES]:
        if raw.get("shown_by") == PreferenceSource.CHOICES:
            choice = check_choice(raw, said, first_new=len(earlier))
            if isinstance(choice, FactRefusal):
                reading.refused[choice] += 1
                continue
            chosen = tuple(rows[place] for place in choice.places)
            if len({row.speaker for row in chosen}) > 1:
                reading.refused[FactRefusal.HOLDER] += 1
                continue
            choices.append(ChoiceEvidence(chosen[0].speaker, choice.about, choice.wanted, choice.key, chosen))
        else:
            stated = check_preference(raw, said, first_new=len(earlier))
            if isinstance(stated, FactRefusal):
                reading.refused[stated] += 1
                continue
            reading.stated += [NewPreference(rows[place], one, by_model=True) for place, one in stated.items()]
    reading.choices = keep_enough(scope, choices)
    reading.refused[FactRefusal.TOO_FEW] += len(choices) - len(reading.choices)
    return reading


def without_known(stated: Sequence[NewPreference], by_rules: Sequence[NewPreference]) -> list[NewPreference]:
    """Return the preferences that neither rules nor an earlier entry found in the same turn."""
    known: set[tuple[uuid.UUID, frozenset[str]]] = {(one.turn.pk, one.stated.key) for one in by_rules}
    kept: list[NewPreference] = []
    for one in stated:
        if (one.turn.pk, one.stated.key) not in known:
            known.add((one.turn.pk, one.stated.key))
            kept.append(one)
    return kept
