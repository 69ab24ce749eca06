"""What a newer statement says outright: that something is to be forgotten, is over, done or another now. Decides;
writes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.enums import ChangeKind, Relation
from memory.governance.comparison import LEAST_CONFIDENCE, Disputed, Former, Key, Retired, StatementComparison
from memory.governance.conflicts import BY_WORD, Decision, by_change, is_meant, one_word
from memory.text.analysis import is_cjk
from memory.text.changes import Change, changes, is_prose, object_terms, own_terms
from memory.text.claims import Claim, claims
from memory.text.clauses import clauses
from memory.text.holders import is_exception, is_other_thing, is_same_holder
from memory.text.utterances import Statement

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


def carry_out_changes(comparison: StatementComparison[Key], place: int) -> None:
    """Does what the newer statement at `place` says outright."""
    for change in changes(comparison.new[place].text):
        _carry_out(comparison, place, change)


def retire_announcements(comparison: StatementComparison[Key]) -> None:
    """Retires what only says that something will be taken back ("remove some information from …", "remove it")."""
    done = next((one for one in comparison.settled.retired if one.key == comparison.key and one.names), None)
    if done is None:
        return
    spare = [
        said
        for said in comparison.new
        if not said.by_agent and len(clauses(said.text)) == 1 and _asks_for_it(said.text)
    ]
    comparison.retire(comparison.key, spare, said=done.by, decision=done.decision, names=done.names)


def _carry_out(comparison: StatementComparison[Key], place: int, change: Change) -> None:
    found = _find_meant(comparison, place, change)
    meant = [one for one in found if not one.decision.review]
    comparison.settled.review.extend(
        Disputed(one.key, one.statement, comparison.new[place], one.decision) for one in found if one.decision.review
    )
    sure = _choose_sure(meant)
    for former in meant:
        _end_former(comparison, place, change, former, sure=former in sure)
    _retire_own(comparison, place, change, meant=meant, sure=sure)


def _find_meant(comparison: StatementComparison[Key], place: int, change: Change) -> list[Former[Key]]:
    """The earlier statements that the `change` announced at `place` is about."""
    said, terms = comparison.new[place], object_terms(change.old)
    if not terms:
        return []
    found: list[Former[Key]] = []
    for key, statements in comparison.earlier.items():
        if comparison.is_out_of_time:
            # What is not looked at could show that what was found names a topic, and no statement.
            return []
        topic = " ".join(one.text for one in statements) if change.what else ""
        found += [
            Former(key, number, old, by_change(change, said, old))
            for number, old in enumerate(statements)
            if not old.by_agent and is_meant(change, old, topic=topic)
        ]
    announcing = comparison.new_claims[place]
    return [one for one in found if one.decision.review or _may_mean(change, announcing, one.statement, terms)]


def _may_mean(change: Change, announcing: Sequence[Claim], old: Statement, terms: frozenset[str]) -> bool:
    """Whether the clause that announces the change says so of itself, and of the thing that the earlier statement
    speaks of: not in a story, not of another's, not for a day."""
    former = claims(old.text)[_clause_of(old.text, terms) or 0]
    announcing = [claim for claim in announcing if change.old in claim.clause.text] or announcing
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


def _choose_sure(meant: Sequence[Former[Key]]) -> list[Former[Key]]:
    """Those of the earlier statements that leave: what is sure enough, and what was named by a single common word if it
    can mean one memory only."""
    updates = [one for one in meant if one.decision.relation is Relation.UPDATES]
    certain = [one for one in updates if one.decision.confidence >= LEAST_CONFIDENCE]
    named = [one for one in updates if one.decision.confidence == BY_WORD]
    return [
        *(certain if len({one.key for one in certain}) <= MOST_MEMORIES else []),
        *(named if len({one.key for one in named}) == 1 else []),
    ]


def _end_former(
    comparison: StatementComparison[Key], place: int, change: Change, former: Former[Key], *, sure: bool
) -> None:
    """Ends an earlier statement that the `change` means, with what was said around it when that is `sure`."""
    said, terms, old = comparison.new[place], object_terms(change.old), former.statement
    clause = _clause_of(old.text, terms)
    whole = (0, len(old.text)) if change.request and (clause is None or len(clauses(old.text)) == 1) else None
    comparison.end(former, said=said, clause=clause, words=whole, sure=sure, asked=change.request)
    if not sure:
        return
    for earlier_change in changes(old.text):
        if earlier_change.kind is ChangeKind.REPLACES and terms <= own_terms(earlier_change.new):
            # "I used to like opera, but now I love jazz", once jazz is over, too.
            _take_out_of_search(
                comparison, former.key, former.place, earlier_change, said=said, decision=former.decision
            )
    around = _list_about(comparison.earlier[former.key], former.place, terms)
    # What a person said around it goes only where they ask to forget it.
    gone = [one for one in around if change.request or one.by_agent]
    comparison.retire(former.key, gone, said=said, decision=former.decision)


def _retire_own(
    comparison: StatementComparison[Key],
    place: int,
    change: Change,
    *,
    meant: Sequence[Former[Key]],
    sure: Sequence[Former[Key]],
) -> None:
    """Takes what the newer memory itself says of what is over out of the results or out of search."""
    key, said, terms = comparison.key, comparison.new[place], object_terms(change.old)
    about = _list_about(comparison.new, place, terms) if sure else []
    if sure and change.kind is ChangeKind.CLOSES:
        comparison.retire(key, [one for one in about if one.by_agent], said=said, decision=sure[0].decision)
    if sure and change.request and _asks_only(said, change):
        comparison.retire(key, [said, *about], said=said, decision=sure[0].decision, names=terms)
    elif change.kind is ChangeKind.RETRACTS and meant:
        _take_out_of_search(comparison, key, place, change, said=said, decision=meant[0].decision)


def _asks_only(said: Statement, change: Change) -> bool:
    """Whether the statement says nothing but that the thing of the `change` is to be forgotten."""
    return len(clauses(said.text.replace(change.old, "it"))) == 1


def _asks_for_it(text: str) -> bool:
    """Whether it asks to remove what was named before ("remove that", "delete some information")."""
    return any(change.request and not object_terms(change.old) for change in changes(text))


def _take_out_of_search(
    comparison: StatementComparison[Key],
    key: Key,
    place: int,
    change: Change,
    *,
    said: Statement,
    decision: Decision,
) -> None:
    """Takes what the memory `key` says at `place` of the thing that is over out of search: the clause that names it,
    and, unless something takes its place, those that point back at it and what follows and is about it. All of it
    holds."""
    statements, terms = comparison.statements_of(key), object_terms(change.old)
    announcing = statements[place]
    start = max(0, announcing.text.replace("’", "'").find(change.old))
    after = [one for one in clauses(announcing.text) if one.end > start]
    naming = [one for one in after if one.start < start + len(change.old)]
    if change.kind is ChangeKind.RETRACTS:
        naming += [one for one in after if one not in naming and (one.refers or _asks_for_it(one.text))]
    elif not change.new or any(change.new in one.text for one in naming):
        # What is new is said in one breath with it, or it is an event ("I sold the car").
        return
    spans = [announcing.span(one.start, one.end) for one in naming]
    if change.kind is ChangeKind.RETRACTS:
        about = _list_about(statements, place, terms)
        spans += [(one.start, one.end) for one in about if one.by_agent or len(clauses(one.text)) == 1]
    retired = comparison.settled.retired
    known = {one.start for one in retired if one.key == key}
    retired.extend(
        Retired(key, first, last, said, decision, terms, holds=True)
        for first, last in dict(spans).items()
        if first not in known
    )


def _list_about(statements: Sequence[Statement], place: int, terms: frozenset[str]) -> list[Statement]:
    """The statements around that at `place` that are about it too: the agent's question that it answers, the agent's
    reply to it, and of what follows what names it, or points back by a pronoun before anything else is spoken of."""
    at = statements[place].turn
    found = [
        said
        for said in statements
        if said.by_agent and (said.turn == at + 1 or (said.turn == at - 1 and said.text.endswith(("?", "？"))))
    ]
    unbroken = True
    for said in statements[place + 1 :]:
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
            found.append(said)
        elif not said.by_agent:
            unbroken = False
    return found
