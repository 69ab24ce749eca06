"""Which statements of memories are no longer valid once a newer memory is known. Decides; writes nothing.

The grain is the clause that holds the old value: whatever else its sentence says stays, and where the clause cannot be
cut out so that the rest keeps its meaning, nothing leaves and the two are linked. What asks to forget something leaves
them too, once it did: it says nothing about the present. What says that something is over holds, and is read on; but it
names what is over and answers no question about anything else, so that search finds it by the name of its object only.
What says that something is done is an event, and stays; so does what puts something new in the place of the old.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memory.enums import ChangeKind, Relation
from memory.governance.conflicts import (
    BY_WORD,
    Decision,
    by_change,
    by_denial,
    decide,
    denied_terms,
    is_meant,
    one_word,
)
from memory.governance.likelihood import Nearness, announces, is_simple, likelihood, may_replace
from memory.governance.updates import Update, is_other_record, resolve_references, update
from memory.text.analysis import is_cjk
from memory.text.attributes import attributes
from memory.text.changes import Change, changes, is_prose, object_terms, own_terms
from memory.text.claims import Claim, claims, telling
from memory.text.clauses import clauses, cut
from memory.text.holders import is_exception, is_other_thing, is_same_holder
from memory.text.utterances import Statement

Key = TypeVar("Key", bound=Hashable)

# What must be as sure as this is carried out; anything less is for a person to see.
LEAST_CONFIDENCE = 0.75
# What is at least so likely, and no more than likely, is worth a second judge's look; less is not looked at again.
LEAST_LIKELY = 0.3
# What no rule finds is linked when it is so likely; what a rule finds is left alone when it is less likely than this.
LEAST_LINKED = 0.7
LEAST_RULED = 0.4
_LIKELY = "The newer statement says that something changed, and most likely means this."
# So many turns after a statement may still be about it.
TURNS_ABOUT = 3
# What fits statements of more memories than this names a topic, and no statement.
MOST_MEMORIES = 3
# Share of a change's object that one clause must hold to be the one that goes.
_CLAUSE_SHARE = 0.6
_REFERS = re.compile(
    r"\b(?:it|its|it's|they|them|their|they're|he|him|his|he's|she|her|she's|this|that|that's|these|those|there's|such)\b|它|他|她|这|那",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Retired(Generic[Key]):
    """The statement at [start, end) of the memory `key` is not valid any more, for the reason that `decision` gives.

    `by`: the statement of the newer memory that did it. `names`: index terms by which it stays findable (those of the
    object, for a statement that took something back; none for what was taken back). `holds`: it leaves search only.
    """

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision
    names: frozenset[str]
    holds: bool = False


@dataclass(frozen=True, slots=True)
class Linked(Generic[Key]):
    """What `by` says takes the place of what the memory `key` says at [start, end), which stays."""

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision


@dataclass(frozen=True, slots=True)
class Unsure(Generic[Key]):
    """What `by` says may take the place of what the memory `key` says at [start, end); `can_cut`: that could leave
    without harm to what stands beside it."""

    key: Key
    start: int
    end: int
    by: Statement
    decision: Decision
    can_cut: bool


@dataclass(frozen=True, slots=True)
class Settled(Generic[Key]):
    """`retired`: what leaves the default results; `linked`: what gives way to the newer memory, retired or not;
    `review`: what a person must settle, as (key, old, new, decision); `unsure`: what may give way, for another judge
    than these rules."""

    retired: list[Retired[Key]] = field(default_factory=list)
    linked: list[Linked[Key]] = field(default_factory=list)
    review: list[tuple[Key, Statement, Statement, Decision]] = field(default_factory=list)
    unsure: list[Unsure[Key]] = field(default_factory=list)


def wanted_terms(statements: Sequence[Statement]) -> list[frozenset[str]]:
    """For each change, denial or value in the statements of a new memory, the terms that find what it may be about."""
    told = [said.text for said in statements if not said.by_agent]
    found = [object_terms(change.old) for text in told for change in changes(text)]
    topics = [
        telling(claim.topic) for _, mine in resolve_references(statements) for claim in mine if _may_update(claim)
    ]
    return [terms for terms in (*found, *map(denied_terms, told), *topics) if terms]


def updating_texts(statements: Sequence[Statement]) -> list[str]:
    """The statements that may say that something is another than before, or what there is one of (where somebody
    lives): the earlier value may be told in quite other words."""
    return [
        said.text
        for said, mine in resolve_references(statements)
        if not said.by_agent and any(announces(claim, said.text) for claim in mine)
    ]


def _may_update(claim: Claim) -> bool:
    if not claim.asserts or claim.past:
        return False
    return claim.changes or bool(claim.values) or bool(attributes(claim.clause.text))


def settle(
    key: Key,
    new: Sequence[Statement],
    earlier: Mapping[Key, Sequence[Statement]],
    *,
    nearness: Callable[[str, str, str], Nearness | None] = lambda *_: None,
    until: float = float("inf"),
) -> Settled[Key]:
    """What the statements `new` of the memory `key` do to `earlier` memories (statements in reading order).

    `nearness`: of a statement, its clause and an earlier clause, as far as it is known; then changes that no rule links
    to an earlier statement are weighed by meaning, too. Only what people say is judged, sentence against sentence; what
    the agent said goes with what it was about. What is not judged `until` then, in seconds of this thread's CPU
    (`time.thread_time`: a busy machine leaves nothing out), changes nothing.
    """
    settled: Settled[Key] = Settled()
    claimed = {other: resolve_references(statements) for other, statements in earlier.items()}
    for place, (said, mine) in enumerate(resolve_references(new)):
        if time.thread_time() > until:
            break
        if said.by_agent:
            continue
        for change in changes(said.text):
            _carry_out(settled, key, new, mine, place=place, change=change, earlier=earlier, until=until)
        for claim in mine:
            _give_way(settled, said, claim, claimed, nearness=nearness, until=until)
        if denied_terms(said.text):
            _deny(settled, said, earlier, until=until)
    _announcements(settled, key, new)
    return settled


def _carry_out(
    settled: Settled[Key],
    key: Key,
    new: Sequence[Statement],
    mine: Sequence[Claim],
    *,
    place: int,
    change: Change,
    earlier: Mapping[Key, Sequence[Statement]],
    until: float,
) -> None:
    """Adds to `settled` what the `change` that `new` announces at `place`, where it claims `mine`, does."""
    said, terms = new[place], object_terms(change.old)
    found = _meant(change, said, earlier, until=until)
    found = [one for one in found if one[3].review or _may_mean(change, mine, one[2], terms)]
    settled.review.extend((other, old, said, decision) for other, _, old, decision in found if decision.review)
    done = _sure(found)
    for other, number, old, decision in found:
        if decision.review:
            continue
        which = _clause_of(old.text, terms)
        sure = (other, number, old, decision) in done
        whole = (0, len(old.text)) if change.request and (which is None or len(clauses(old.text)) == 1) else None
        _end(
            settled,
            other,
            earlier[other],
            number,
            which,
            said=said,
            decision=decision,
            sure=sure,
            words=whole,
            asked=change.request,
        )
        if sure:
            for former in changes(old.text):
                if former.kind is ChangeKind.REPLACES and terms <= own_terms(former.new):
                    # "I used to like opera, but now I love jazz", once jazz is over, too.
                    _announced(settled, other, earlier[other], place=number, change=former, by=said, decision=decision)
            around = [earlier[other][one] for one in _about(earlier[other], number, terms)]
            # What a person said around it goes only where they ask to forget it.
            gone = [one for one in around if change.request or one.by_agent]
            _retire(settled, other, gone, by=said, decision=decision)
    if done and change.kind is ChangeKind.CLOSES:
        about = [new[one] for one in _about(new, place, terms) if new[one].by_agent]
        _retire(settled, key, about, by=said, decision=done[0][3])
    if done and change.request and _asks_only(said, change):
        about = [said, *(new[one] for one in _about(new, place, terms))]
        _retire(settled, key, about, by=said, decision=done[0][3], names=terms)
    elif change.kind is ChangeKind.RETRACTS and (told := [one[3] for one in found if not one[3].review]):
        _announced(settled, key, new, place=place, change=change, by=said, decision=told[0])


def _asks_only(said: Statement, change: Change) -> bool:
    """Whether the statement says nothing but that the thing of the `change` is to be forgotten."""
    return len(clauses(said.text.replace(change.old, "it"))) == 1


def _announced(
    settled: Settled[Key],
    key: Key,
    statements: Sequence[Statement],
    *,
    place: int,
    change: Change,
    by: Statement,
    decision: Decision,
) -> None:
    """Takes what the `statements` of a memory say at `place` of the thing that is over out of search: the clause that
    names it, and, unless something takes its place, those that point back at it and what follows and is about it. All
    of it holds."""
    said, terms = statements[place], object_terms(change.old)
    start = max(0, said.text.replace("’", "'").find(change.old))
    after = [one for one in clauses(said.text) if one.end > start]
    naming = [one for one in after if one.start < start + len(change.old)]
    if change.kind is ChangeKind.RETRACTS:
        naming += [one for one in after if one not in naming and (one.refers or _asks_for_it(one.text))]
    elif not change.new or any(change.new in one.text for one in naming):
        # What is new is said in one breath with it, or it is an event ("I sold the car").
        return
    spans = [said.span(one.start, one.end) for one in naming]
    if change.kind is ChangeKind.RETRACTS:
        about = [statements[one] for one in _about(statements, place, terms)]
        spans += [(one.start, one.end) for one in about if one.by_agent or len(clauses(one.text)) == 1]
    known = {one.start for one in settled.retired if one.key == key}
    settled.retired.extend(
        Retired(key, first, last, by, decision, terms, holds=True)
        for first, last in dict(spans).items()
        if first not in known
    )


def _asks_for_it(text: str) -> bool:
    """Whether it asks to forget what was named before ("remove that", "delete some information")."""
    return any(change.request and not object_terms(change.old) for change in changes(text))


def _may_mean(change: Change, said: Sequence[Claim], old: Statement, terms: frozenset[str]) -> bool:
    """Whether the clause that announces the change says so of itself, and of the thing that the earlier statement
    speaks of: not in a story, not of another's, not for a day."""
    former = claims(old.text)[_clause_of(old.text, terms) or 0]
    announcing = [claim for claim in said if change.old in claim.clause.text] or said
    if change.request:
        if one_word(change) or _is_chinese_word(terms):
            return any(is_same_holder(claim, former) for claim in announcing)
        # Named by more than a common word it is meant, unless it is the speaker's and the earlier is another's.
        [thing, *_] = claims(change.old)
        return not (thing.speaks_of_own and former.owner == "other") or bool(
            (former.people & thing.mentions) or (former.names & thing.names)
        )
    # What is asked for as a change is one, so that "I want to" and "I need to" do not speak against it here.
    return any(
        not (claim.quotes or claim.asks)
        and not claim.adds
        and is_same_holder(claim, former)
        and not is_other_thing(claim, former)
        and not is_exception(claim, former)
        and (former.owner != "own" or former.subject or claim.speaks_of_own or not claim.subject)
        for claim in announcing
    )


def _is_chinese_word(terms: frozenset[str]) -> bool:
    """Whether the terms are the two characters of one word, and the pair of them."""
    return len(terms) <= 3 and sum(len(term) for term in terms if len(term) > 1) == 2 and all(map(is_cjk, terms))


def _clause_of(sentence: str, terms: frozenset[str]) -> int | None:
    """The one clause of `sentence` that holds the most of `terms`; None when no single one does."""
    shares = [len(terms & own_terms(clause.text)) / len(terms) for clause in clauses(sentence)]
    best = max(shares)
    return shares.index(best) if best >= _CLAUSE_SHARE and shares.count(best) == 1 else None


def _end(
    settled: Settled[Key],
    other: Key,
    statements: Sequence[Statement],
    number: int,
    clause: int | None,
    *,
    said: Statement,
    decision: Decision,
    sure: bool,
    words: tuple[int, int] | None = None,
    asked: bool = False,
    linked: bool = True,
) -> None:
    """Links a clause (or `words` of the sentence) of an earlier statement to what takes its place, and retires it when
    that is `sure` and can be done without harm to the rest. `asked`: it is asked to be forgotten, and what follows and
    points back at it goes, too. Not `linked`: it is noted as unsure only."""
    old = statements[number]
    place = words
    if place is None and clause is not None:
        place = cut(old.text, clause, followed_by_reference=not asked and _next_refers(statements, number))
    if place is not None:
        start, end = old.span(*place)
    elif clause is not None:
        start, end = old.span(clauses(old.text)[clause].start, clauses(old.text)[clause].end)
    else:
        start, end = old.start, old.end
    if linked:
        settled.linked.append(Linked(other, start, end, said, decision))
    if not asked and decision.confidence < LEAST_CONFIDENCE and not sure:
        settled.unsure.append(Unsure(other, start, end, said, decision, place is not None))
    if sure and place is not None:
        _retire_surer(settled, Retired(other, start, end, said, decision, frozenset()))


def _retire_surer(settled: Settled[Key], gone: Retired[Key]) -> None:
    """Adds what is `gone`, in the place of what is gone at the same place for a less sure reason."""
    for number, one in enumerate(settled.retired):
        if (one.key, one.start) == (gone.key, gone.start):
            if one.decision.confidence < gone.decision.confidence:
                settled.retired[number] = gone
            return
    settled.retired.append(gone)


def _next_refers(statements: Sequence[Statement], number: int) -> bool:
    """Whether the sentence after means little without this one."""
    following = statements[number + 1 : number + 2]
    if not following or following[0].by_agent or following[0].turn != statements[number].turn:
        return False
    return clauses(following[0].text)[0].refers


def _give_way(
    settled: Settled[Key],
    said: Statement,
    claim: Claim,
    earlier: Mapping[Key, Sequence[tuple[Statement, tuple[Claim, ...]]]],
    *,
    nearness: Callable[[str, str, str], Nearness | None],
    until: float,
) -> None:
    """Adds what gives way to a `claim` of the statement `said`: earlier claims with another value of the same, or the
    one that it most likely means."""
    if not (_may_update(claim) or announces(claim, said.text)):
        return
    found: list[tuple[Key, int, Claim, Update]] = []
    likely: list[tuple[Key, int, Claim, Update]] = []
    for other, statements in earlier.items():
        if time.thread_time() > until:
            return
        for number, (old, theirs) in enumerate(statements):
            if old.by_agent:
                continue
            for former in theirs:
                if not _may_speak_for(said, claim, old, former):
                    continue
                near = nearness(said.text, claim.clause.text, former.clause.text)
                decided = _decided(said, claim, old, former, near, alone=len(theirs) == 1)
                if decided is not None:
                    (likely if decided.reason == _LIKELY else found).append((other, number, former, decided))
    weighed = not found and bool(likely)
    if weighed:
        found = [max(likely, key=lambda one: one[3].confidence)]
    one_thing = _one_thing([former for *_, former, _ in found]) and len({one.evidence[:1] for *_, one in found}) < 2
    for other, number, former, decided in found:
        decision = Decision(Relation.UPDATES, decided.reason, decided.evidence, decided.confidence)
        words = None
        if decided.words:
            words = decided.words[0] + former.clause.start, decided.words[1] + former.clause.start
        _end(
            settled,
            other,
            [one for one, _ in earlier[other]],
            number,
            None if decided.partial and words is None else former.number,
            said=said,
            decision=decision,
            sure=one_thing and decided.confidence >= LEAST_CONFIDENCE,
            words=words,
            linked=not weighed or decided.confidence >= LEAST_LINKED,
        )


def _update_of_one_record(said: Statement, claim: Claim, old: Statement, former: Claim) -> Update | None:
    """What `claim` does to `former`; nothing, when their sentences are of two records and none says that it changed."""
    decided = update(claim, former)
    if decided is None or claim.changes or not is_other_record(said.text, old.text, decided.evidence):
        return decided
    return None


def _decided(
    said: Statement, claim: Claim, old: Statement, former: Claim, near: Nearness | None, *, alone: bool
) -> Update | None:
    """What a `claim` of the statement `said` does to a `former` one of `old`, by the rules and by how likely it is.
    `alone`: the earlier statement claims nothing else."""
    decided = _update_of_one_record(said, claim, old, former)
    if near is None or not may_replace(claim, former, said.text, ruled=decided is not None):
        return decided
    sure = likelihood(claim, former, said.text, near, rule=decided.confidence if decided else 0.0)
    if decided is not None:
        return decided if sure >= LEAST_RULED else None
    if sure < LEAST_LIKELY:
        return None
    return Update(_LIKELY, sure, (former.clause.text,), partial=not (alone and is_simple(former)))


def _one_thing(formers: Sequence[Claim]) -> bool:
    """Whether all these claims may be about one and the same thing."""
    subjects = [telling(former.subject) | former.names for former in formers]
    return all(one <= other or other <= one for one in subjects for other in subjects)


def _may_speak_for(said: Statement, claim: Claim, old: Statement, former: Claim) -> bool:
    """Not what another says of themselves; of a third thing that both name, anyone may speak."""
    return said.speaker == old.speaker or (claim.owner != "own" and former.owner != "own")


def may_stand(
    said: Statement,
    new: Sequence[Statement],
    old: Statement,
    earlier: Sequence[Statement],
    *,
    former_value: str,
    value: str,
) -> bool:
    """Whether `value`, as a clause of `said` (one of `new`) gives it, may take the place of `former_value` in a clause
    of `old` (one of `earlier`): nothing in the two speaks of another holder, thing or time. Without a `value` the
    clause must say that something is over or another."""
    mine = next((own for statement, own in resolve_references(new) if statement == said), ())
    theirs = next((own for statement, own in resolve_references(earlier) if statement == old), ())
    ends = bool(changes(said.text))
    return any(
        former_value in former.clause.text
        and (value in claim.clause.text if value else ends or claim.ends or claim.negated or claim.changes)
        and not (claim.quotes or claim.asks or claim.adds or former.quotes or former.asks)
        and _may_speak_for(said, claim, old, former)
        # By what it is about in its place, and by its own words, which name nobody that the former does not.
        and is_same_holder(claim, former)
        and is_same_holder(alone, former)
        and not alone.people - former.mentions
        and (alone.owner != "other" or former.owner == "other")
        and not is_other_thing(claim, former)
        and not is_exception(claim, former)
        for claim, alone in zip(mine, claims(said.text), strict=False)
        for former in theirs
    )


def _deny(settled: Settled[Key], said: Statement, earlier: Mapping[Key, Sequence[Statement]], *, until: float) -> None:
    """Adds the earlier statement that speaks most of what `said` denies, the newest of several: a person must settle
    it, and is asked once."""
    best: tuple[Key, Statement, Decision] | None = None
    for other, statements in earlier.items():
        if time.thread_time() > until:
            return
        for old in statements:
            if old.by_agent:
                continue
            strict = decide(said, old)
            decision = strict if strict.review else by_denial(said, old)
            if decision is None:
                continue
            if best is None or len(decision.evidence) >= len(best[2].evidence):
                best = (other, old, decision)
    if best is not None:
        other, old, decision = best
        settled.review.append((other, old, said, decision))


def _retire(
    settled: Settled[Key],
    key: Key,
    gone: Iterable[Statement],
    *,
    by: Statement,
    decision: Decision,
    names: frozenset[str] = frozenset(),
) -> None:
    known = {(one.key, one.start) for one in settled.retired}
    settled.retired.extend(
        Retired(key, one.start, one.end, by, decision, names) for one in gone if (key, one.start) not in known
    )


def _sure(
    found: Sequence[tuple[Key, int, Statement, Decision]],
) -> list[tuple[Key, int, Statement, Decision]]:
    """Those of the earlier statements that were `found` that leave: what is sure enough, and what was named by a single
    common word if it can mean one memory only."""
    updates = [one for one in found if one[3].relation is Relation.UPDATES]
    certain = [one for one in updates if one[3].confidence >= LEAST_CONFIDENCE]
    named = [one for one in updates if one[3].confidence == BY_WORD]
    return [
        *(certain if len({key for key, *_ in certain}) <= MOST_MEMORIES else []),
        *(named if len({key for key, *_ in named}) == 1 else []),
    ]


def _meant(
    change: Change, said: Statement, earlier: Mapping[Key, Sequence[Statement]], *, until: float
) -> list[tuple[Key, int, Statement, Decision]]:
    """The earlier statements that `change` is about: (memory, place in it, statement, decision)."""
    if not object_terms(change.old):
        return []
    found = []
    for other, statements in earlier.items():
        if time.thread_time() > until:
            # What is not looked at could show that what was found names a topic, and no statement.
            return []
        topic = " ".join(one.text for one in statements) if change.what else ""
        for number, old in enumerate(statements):
            if not old.by_agent and is_meant(change, old, topic=topic):
                found.append((other, number, old, by_change(change, said, old)))
    return found


def _about(statements: Sequence[Statement], place: int, terms: frozenset[str]) -> list[int]:
    """The statements around that at `place` that are about it too: the agent's question that it answers, the agent's
    reply to it, and of what follows what names it, or points back by a pronoun before anything else is spoken of."""
    at = statements[place].turn
    found = [
        number
        for number, said in enumerate(statements)
        if said.by_agent and (said.turn == at + 1 or (said.turn == at - 1 and said.text.endswith(("?", "？"))))
    ]
    unbroken = True
    for number in range(place + 1, len(statements)):
        said = statements[number]
        if said.turn - at > TURNS_ABOUT:
            break
        if said.by_agent and said.turn == at + 1:
            # What the agent asks back is about it, and so is the answer.
            unbroken = True
            continue
        if not is_prose(said.text):
            continue
        names = bool(terms) and len(terms & own_terms(said.text)) * 2 >= len(terms)
        if names or (unbroken and _REFERS.search(said.text)):
            found.append(number)
        elif not said.by_agent:
            unbroken = False
    return found


def _announcements(settled: Settled[Key], key: Key, new: Sequence[Statement]) -> None:
    """Retires what only says that something will be taken back ("remove some information from …", "remove it")."""
    done = next((one for one in settled.retired if one.key == key and one.names), None)
    if done is None:
        return
    spare = [said for said in new if not said.by_agent and len(clauses(said.text)) == 1 and _asks_for_it(said.text)]
    _retire(settled, key, spare, by=done.by, decision=done.decision, names=done.names)
