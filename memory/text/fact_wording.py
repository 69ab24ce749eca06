"""Whether a clause of a turn says what a fact says: of the same holder, in the same words and order, as so, denied,
over, planned or past alike, and neither asked, supposed, quoted nor in jest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from memory.enums import FactRefusal
from memory.text.analysis import CJK, FUNCTION_CHARACTERS, is_cjk, terms
from memory.text.claims import Claim, claims
from memory.text.cues import is_negated
from memory.text.event_dates import add_dates
from memory.text.grounding import find_invented
from memory.text.salience import is_light
from memory.text.statements import Turn
from memory.text.utterances import statements

_NUMBER = re.compile(r"\d")
_CONDITIONAL = re.compile(
    r"\b(?:if|unless|suppose|supposing|assuming|imagine|pretend\w*|what if|maybe|perhaps|possibly|probably|might|could"
    r"|would(?! like)|wish\w*|as if|as though|joking|joked|kidding|almost|nearly|dream\w*|wonder\w*|whether"
    r"|hypothetical\w*|someday|one day|tempted|considering|thinking|role.?play\w*|once upon"
    r"|let's (?:play|say|pretend|imagine|assume))\b"
    r"|如果|要是|假如|假设|万一|也许|可能|大概|或许|但愿|希望|开玩笑|差点|梦|假装|比如|考虑",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:plan\w*|intend\w*|going to|will|want\w* to|hop(?:e|es|ing) to|would like to|about to|scheduled|supposed to"
    r"|gonna|next|upcoming|aims? to|needs? to|has to|have to|due)\b|'ll\b"
    r"|打算|计划|准备|想要?|希望|将|要|明年|下个?[月周]",
    re.IGNORECASE,
)
_IN_JEST = re.compile(
    r"(?:^|\s)/s\b|\byeah,? right\b|\bas if[!.]|\bjust kidding\b|\bjk\b|\bnot!(?:\s|$)|🙄|😏|🤪|\bsure,? because\b"
    r"|\b(?:i'm|im|i am|was|only|just) (?:kidding|joking)\b|\boh,? (?:great|sure|wonderful|brilliant|perfect),"
    r"|才怪|开玩笑|逗你|骗你的",
    re.IGNORECASE,
)
_THIRD_PERSON = re.compile(r"^\W*(?:she|he|they|it|her|his|their|its)\b|^[他她它]", re.IGNORECASE)
_WRONG = re.compile(
    r"\b(?:no,? wait|wait,? no|scratch that|i was wrong|correction|actually,? no|my mistake|never ?mind|i meant|i lied"
    r"|forget (?:that|it)|that was (?:last|years|back))\b|不对|说错|更正|口误",
    re.IGNORECASE,
)
# Denials that are no negation.
_DENIED = re.compile(
    r"\b(?:hardly|barely|scarcely|rarely|seldom|fail\w* to|refus\w*|reject\w*|den(?:y|ies|ied|ying)|unable|avoid\w*"
    r"|lack\w*|far from|instead of|rather than|except)\b|很少|几乎不|拒绝|避免|除了",
    re.IGNORECASE,
)
# A date that a fact adds to what was said "yesterday".
_DATED = re.compile(r"[,，]?\s*(?:\b(?:on|in|since|from|by) )?\(?\d{4}-\d\d(?:-\d\d)?\)?")
# What stands before a statement and is no part of it: whom one speaks to, when it was.
_OPENING = re.compile(
    r"^(?:(?-i:[A-Z])\w+,\s+|(?:yesterday|today|tonight|(?:last|this) \w+|(?:in|on) \w+|so|well|and"
    r"|but|oh|hey|hi|yes|ok(?:ay)?|by the way)[,\s]+)+(?=(?:i|we|my|our)\b)",
    re.IGNORECASE,
)
_TOKEN = re.compile(rf"[{CJK}]|\d[\d,.:/-]*|[^\W\d_{CJK}][^\W_{CJK}]*(?:[-/._][^\W_{CJK}]+)*")
_CONTRACTIONS = (
    (r"\bcan't\b|\bcannot\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"), (r"'ll\b", " will"),
    (r"'(?:m|re|s|ve|d)\b", " "),
)  # fmt: skip
# What changes when another tells it, and what says nothing.
_NEUTRAL = frozenset(
    "i me my mine we us our ours he him his she her hers it its they them their theirs a an the am is are was were be"
    " been being has have had do does did and also just really actually now currently still already few some so well"
    " oh".split()
) | frozenset("我咱们他她它的了也就都")
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
# Turns after one that may take it back.
_TAKEN_BACK_WITHIN = 2


class Wording(NamedTuple):
    """A fact as far as the turns must have its words."""

    holder: str
    value: str
    text: str


def find_refusal(
    fact: Wording, turns: Sequence[Turn], places: Sequence[int], asked: Sequence[Turn]
) -> FactRefusal | None:
    """Why no clause of the turns at `places` says the fact, which may answer what is `asked`; None: one does."""
    found = FactRefusal.UNSUPPORTED
    for place in places:
        turn = turns[place]
        if _is_taken_back(turns, place):
            found = FactRefusal.SUPPOSED
            continue
        told = statements(turn.text, speaker=turn.speaker)
        for number, statement in enumerate(told):
            for claim in claims(statement.text):
                if not _has_value(fact.value, claim.clause.text, statement.text, turn):
                    continue
                before = told[number - 1].text if number else ""
                refusal = _unlike(claim, statement.text, before, turn, fact)
                if refusal is None and not _reads_alike(fact, claim, statement.text, turn, asked):
                    refusal = FactRefusal.UNSUPPORTED
                if refusal is None:
                    return None
                found = refusal
    return found


def _reads_alike(fact: Wording, claim: Claim, sentence: str, turn: Turn, asked: Sequence[Turn]) -> bool:
    """Whether the fact says the clause again from its subject on, word for word but for who says it; it may end before
    the sentence does, add a date that the turn names, or begin with the words of a question that it answers."""
    clause = claim.clause
    start = clause.predicate if clause.shares_subject else clause.subject[0] if clause.subject else clause.start
    told = _words(_OPENING.sub("", sentence[start:]), fact, claim, turn)
    if clause.subject and not clause.shares_subject and start > clause.start:
        # What opens the clause is left out or told: "In May we …".
        whole = _words(sentence[clause.start :], fact, claim, turn)
    else:
        whole = told
    said = _words(_strip_dates(fact.text), fact, claim, turn)
    near = {word for one in asked if one is not turn for word in _words(one.text, fact, claim, turn)}
    while said and said[0] in near and said[:1] != told[:1]:
        said = said[1:]
    return bool(said) and any(words[: len(said)] == said for words in (told, whole))


def _strip_dates(text: str) -> str:
    return _DATED.sub("", text)


def _words(text: str, fact: Wording, claim: Claim, turn: Turn) -> list[str]:
    """The words of `text`, stemmed, without those that only say who: the holder, and what the speaker is called."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    speaker = turn.speaker or turn.role
    left_out = {*_split(fact.holder)}
    if set(_split(speaker)) & left_out:
        left_out.update(_split(speaker))
    for name in sorted((fact.holder, speaker), key=len, reverse=True):
        text = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
    if claim.people:
        left_out.update(word for person in claim.people for word in _split(person))
        for person in claim.people:
            text = text.replace(person, " ") if is_cjk(person[0]) else text
    return [word for word in _split(text) if word not in left_out and word not in _NEUTRAL]


def _split(text: str) -> list[str]:
    for short, long in _CONTRACTIONS:
        text = re.sub(short, long, text, flags=re.IGNORECASE)
    found = []
    for match in _TOKEN.finditer(text.lower()):
        word = match.group().replace(",", "").rstrip(".:/-")
        stem = terms(word) if not is_cjk(word[0]) else []
        found.append(_NUMBER_WORDS.get(word, stem[0] if stem else word))
    return found


def _is_taken_back(turns: Sequence[Turn], place: int) -> bool:
    """Whether the turn is in jest, or its speaker says soon that it was, or that it was wrong."""
    later = turns[place + 1 : place + 1 + _TAKEN_BACK_WITHIN]
    own = [turns[place], *(turn for turn in later if turn.speaker == turns[place].speaker)]
    return any(cue.search(turn.text.replace("’", "'")) for turn in own for cue in (_IN_JEST, _WRONG))


def _has_value(value: str, clause: str, sentence: str, turn: Turn) -> bool:
    """Whether the clause has all of the value; or the sentence, when the value goes beyond its clauses."""
    wanted = {term for term in terms(value) if not _NUMBER.search(term)}
    said = set(terms(_with_dates(Turn(turn.id, clause, turn.role, turn.speaker, turn.occurred_at))))
    if wanted <= said:
        part = Turn(turn.id, clause, turn.role, turn.speaker, turn.occurred_at)
        return find_invented(value, [part]) is None
    return len(wanted) > 1 and bool(wanted & said) and wanted <= set(terms(sentence))


def _unlike(claim: Claim, sentence: str, before: str, turn: Turn, fact: Wording) -> FactRefusal | None:
    """In what the fact says something else than the clause; None: they agree."""
    said = claims(fact.text)
    until = sentence[: claim.clause.end]
    if claim.asks:
        return FactRefusal.QUESTION
    if claim.quotes or _CONDITIONAL.search(until):
        return FactRefusal.SUPPOSED
    if not claim.asserts and not _PLAN.search(until):
        return FactRefusal.SUPPOSED
    if _PLAN.search(until) and not claim.asserts and not _PLAN.search(fact.text):
        return FactRefusal.PLANNED
    if _denies(claim.clause.text, [claim]) != _denies(fact.text, said):
        return FactRefusal.NEGATION
    past = any(one.past or one.tense == "past" for one in said)
    if claim.past and not past:
        return FactRefusal.PAST
    if past and not claim.past and claim.tense != "past":
        # "Book a room" is no room that was booked.
        return FactRefusal.UNSUPPORTED
    if not _is_of_holder(claim, sentence, before, turn, fact):
        return FactRefusal.HOLDER
    return None


def _denies(text: str, told: Sequence[Claim]) -> tuple[bool, bool]:
    """Whether `text` says that something is not so, and whether that something is over."""
    denied = is_negated(f" {text} ") or _DENIED.search(text) is not None or any(one.negated for one in told)
    return denied, any(one.ends for one in told)


def _is_of_holder(claim: Claim, sentence: str, before: str, turn: Turn, fact: Wording) -> bool:
    speaks = set(terms(turn.speaker or turn.role)) or {(turn.speaker or turn.role).lower()}
    own = set(terms(fact.holder)) or {fact.holder.lower()}
    clause = set(terms(claim.clause.text))
    if own <= speaks or fact.holder.lower() in ((turn.speaker or turn.role).lower(), turn.role):
        if claim.owner != "other":
            of_self = claim.owner == "own" and claim.speaks_of_own
            return of_self or not claim.names - set(terms(fact.text))
        # "My sister lives in Rome" is of the sister, and the fact has to say so.
        people = claim.people or claim.mentions
        return bool(people) and claim.speaks_of_own and people <= set(terms(fact.text)) | _mentions(fact.text)
    if own & speaks and claim.owner:
        # "Ana's sister" is "my sister" in what Ana says, and "our team" is Ana's.
        others = own - speaks
        return (
            claim.speaks_of_own
            and bool(others)
            and any(one in others or (is_cjk(one[0]) and one in fact.holder) for one in claim.subject | claim.people)
        )
    if claim.owner == "own":
        return False
    if own <= clause:
        return not _is_owner(fact.holder, claim.clause.text) or _is_owner(fact.holder, fact.text)
    if own <= set(terms(sentence)):
        return claim.clause.shares_subject or claim.clause.refers
    return bool(_THIRD_PERSON.search(claim.clause.text)) and own <= set(terms(before))


def _is_owner(holder: str, text: str) -> bool:
    """Whether `text` names the holder only as whose something is: "Leo's wife", "小马的姐姐"."""
    places = [match.end() for match in re.finditer(re.escape(holder), text, re.IGNORECASE)]
    return bool(places) and all(
        text[end : end + 2].replace("’", "'") == "'s" or text[end : end + 1] == "的" for end in places
    )


def _mentions(text: str) -> set[str]:
    return {person for one in claims(text) for person in one.mentions}


def find_own_words(text: str, sources: Sequence[Turn]) -> set[str]:
    """The telling terms of `text` that none of the turns has; numbers and dates are looked at elsewhere."""
    told = {term for turn in sources for term in terms(_with_dates(turn))}
    told |= {term for turn in sources for term in terms(turn.speaker or turn.role)}
    own = {term for term in terms(text) if term not in told and not is_light(term) and not _NUMBER.search(term)}
    # A pair of Chinese characters is new wherever two words meet.
    return {term for term in own - FUNCTION_CHARACTERS if len(term) == 1 or not is_cjk(term[0])}


def _with_dates(turn: Turn) -> str:
    return add_dates(turn.text, turn.occurred_at) if turn.occurred_at else turn.text


def agree(one: str, other: str) -> bool:
    """Whether two facts of the same holder, attribute and value say the same of it: both that it is so, both that it is
    not, or was, or is planned."""
    return _manner(one) == _manner(other)


def _manner(text: str) -> tuple[tuple[bool, bool], bool, bool]:
    told = claims(text)
    past = any(one.past or one.tense == "past" for one in told)
    return _denies(text, told), past, _PLAN.search(text) is not None
