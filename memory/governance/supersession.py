"""Which statements of memories are no longer valid once a newer memory is known. Decides; writes nothing.

The grain is the clause that holds the old value: whatever else its sentence says stays, and where the clause cannot be
cut out so that the rest keeps its meaning, nothing leaves and the two are linked. What asks to forget something leaves
them too, once it did: it says nothing about the present. What says that something is over holds, and is read on; but it
names what is over and answers no question about anything else, so that search finds it by the name of its object only.
What says that something is done is an event, and stays; so does what puts something new in the place of the old.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.governance.announcements import carry_out_changes, retire_announcements
from memory.governance.comparison import Disputed, Key, Settled, StatementComparison
from memory.governance.conflicts import by_denial, decide, find_denied_terms
from memory.governance.likelihood import Meanings, NoMeanings, announces
from memory.governance.references import resolve_references
from memory.governance.replacements import may_update, replace_claims
from memory.text.changes import changes, object_terms
from memory.text.claims import telling
from memory.text.utterances import Statement


def settle(
    key: Key,
    new: Sequence[Statement],
    earlier: Mapping[Key, Sequence[Statement]],
    *,
    meanings: Meanings | None = None,
    until: float = float("inf"),
) -> Settled[Key]:
    """What the statements `new` of the memory `key` do to `earlier` memories (statements in reading order).

    `meanings`: of the statements and of earlier clauses, as far as they are known; then changes that no rule links to
    an earlier statement are weighed by meaning, too. Only what people say is judged, sentence against sentence; what
    the agent said goes with what it was about. What is not judged `until` then, in seconds of this thread's CPU
    (`time.thread_time`: a busy machine leaves nothing out), changes nothing.
    """
    comparison = StatementComparison(key, new, earlier, meanings or NoMeanings(), until)
    for place, said in enumerate(new):
        if comparison.is_out_of_time:
            break
        if not said.by_agent:
            carry_out_changes(comparison, place)
            replace_claims(comparison, place)
            dispute_denied(comparison, place)
    retire_announcements(comparison)
    return comparison.settled


def dispute_denied(comparison: StatementComparison[Key], place: int) -> None:
    """Has a person settle what speaks most of what the newer statement at `place` denies for all time: the newest of
    several earlier statements, and once."""
    said = comparison.new[place]
    best: Disputed[Key] | None = None
    if not find_denied_terms(said.text):
        return
    for key, statements in comparison.earlier.items():
        if comparison.is_out_of_time:
            return
        for old in statements:
            if old.by_agent:
                continue
            strict = decide(said, old)
            decision = strict if strict.review else by_denial(said, old)
            if decision is None:
                continue
            if best is None or len(decision.evidence) >= len(best.decision.evidence):
                best = Disputed(key, old, said, decision)
    if best is not None:
        comparison.settled.review.append(best)


def list_search_terms(statements: Sequence[Statement]) -> list[frozenset[str]]:
    """For each change, denial or value in the statements of a new memory, the terms that find what it may be about."""
    told = [said.text for said in statements if not said.by_agent]
    found = [object_terms(change.old) for text in told for change in changes(text)]
    topics = [telling(claim.topic) for _, mine in resolve_references(statements) for claim in mine if may_update(claim)]
    return [terms for terms in (*found, *map(find_denied_terms, told), *topics) if terms]


def updating_texts(statements: Sequence[Statement]) -> list[str]:
    """The statements that may say that something is another than before, or what there is one of (where somebody
    lives): the earlier value may be told in quite other words."""
    return [
        said.text
        for said, mine in resolve_references(statements)
        if not said.by_agent and any(announces(claim, said.text) for claim in mine)
    ]
