"""Estimates the probability that a newer statement gives the new value of an earlier one, after rules that forbid it.

The score is a logistic regression over the words that both statements share, the words that mark a change, and their
cosine. `bench/settling/learn.py` fits its weights and writes `update_weights.json`: one number for each feature, and
one that is added for Chinese. They apply to cosines of the bundled model. docs/settling.md lists its errors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path

from memory.text.analysis import terms
from memory.text.cues import is_negated
from memory.text.english_verbs import FINITE
from memory.text.moods import Mood, find_moods
from memory.text.subjects import (
    content_terms,
    find_labels,
    find_names,
    find_people,
    find_possession,
    find_subject,
    find_verb,
    find_years,
    is_chinese,
    is_of_speaker,
    is_third_person,
    names_others,
    telling,
    tokens,
)
from memory.text.update_cues import CUES, TELLING, cues

WEIGHTS_FILE = Path(__file__).with_name("update_weights.json")
# Minimum probability that links two statements.
LINKED_FROM = 0.7
# Maximum cosine of two different statements. A pair that can't be linked even with it isn't embedded.
HIGHEST_COSINE = 0.95
# Minimum share of equal words of two statements with the same form, whose subjects must not differ.
_SAME_FORM = 0.5
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*|[一二三四五六七八九十百千两]+")
_VALUE_KINDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|周[一二三四五六日末天]|星期[一二三四五六日天]",
        r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\d+月"
        r"|\d{1,2}(?:st|nd|rd|th)\b",
        r"\b\d{1,2}(?::\d\d)? ?(?:am|pm)\b|\b\d{1,2}:\d\d\b|\bnoon\b|[一二三四五六七八九十\d两]+点",
        r"[$€£¥]\s?\d|\d+ ?(?:euros?|dollars?|pounds?|块|元|万)|\b\d{1,3},\d{3}\b",
        _DIGITS.pattern,
    )
)


# Matches a denial at the start of a correction: "No: it leaves at eleven".
_DENIAL = re.compile(r"^\W*(?:no|wrong|不对|不是|错了)[,:，：]\s*", re.IGNORECASE)
# Words that are values like numbers.
_VALUE_WORDS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays"
    " saturdays sundays january february march april may june july august september october november december am"
    " pm noon midnight morning afternoon evening one two three four five six seven eight nine ten eleven twelve"
    " once twice half".split()
)
# Matches words before the subject of a statement: "Since Monday the office …".
_OPENS = re.compile(
    r"(?:after|before|since|from|as of|starting|on|in|at|by|this|next|last|today|yesterday|now|correction|update|sorry"
    r"|btw|fyi)\b"
    r"|[^,:]*[,:]|最近|现在|从|昨天|今天|上周|下周|本周|这[周月学]|更正",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement as the score reads it; `subject` is the text before its predicate."""

    text: str
    chinese: bool
    terms: frozenset[str]
    subject: str
    subject_words: frozenset[str]
    verb: str
    subject_terms: frozenset[str]
    predicate_terms: frozenset[str]
    people: frozenset[str]
    names: frozenset[str]
    subject_names: frozenset[str]
    of_speaker: bool
    cues: frozenset[str]
    moods: frozenset[Mood]


@lru_cache(maxsize=512)
def read(text: str) -> ParsedStatement:
    """Parse the statement `text`."""
    subject = find_subject(text)
    return ParsedStatement(
        text=text,
        chinese=is_chinese(text),
        terms=frozenset(terms(text)),
        subject=subject,
        subject_words=frozenset(tokens(subject)) if not _OPENS.match(subject) else frozenset(),
        verb=find_verb(text),
        subject_terms=frozenset(terms(subject)),
        predicate_terms=frozenset(terms(text[len(subject) :])),
        people=find_people(text),
        names=find_names(text),
        subject_names=find_names(subject),
        of_speaker=is_of_speaker(text),
        cues=cues(text),
        moods=find_moods(text),
    )


def may_update(statement: str) -> bool:
    """Tell whether `statement` asserts something from now on, so that it can give a new value."""
    return not find_moods(statement)


def find_obstacle(newer: str, older: str) -> str:
    """Return in a few words why `newer` can't be about the subject of `older`; "" if nothing forbids it.

    Both are statements of one speaker, or about a thing that is neither speaker's.
    """
    new, old = read(newer), read(older)
    if new.moods:
        return min(new.moods)
    if Mood.ASKS in old.moods:
        return "the older one asks"
    if new.people and old.people and not new.people & old.people:
        return "it is about other people"
    if find_people(new.subject) - old.people or (names_others(newer) and not names_others(older)):
        return "it is about other people"
    if not old.people and old.of_speaker and is_third_person(newer):
        return "it is about somebody else"
    if new.of_speaker != old.of_speaker and _has_other_holder(new, old):
        return "it is about somebody else"
    if _has_other_possession(newer, older):
        return "it is about another attribute or holder"
    for find in (find_years, _find_subject_labels):
        mine, theirs = find(newer), find(older)
        if mine and theirs and not mine & theirs:
            return "it has another number, year or day"
    return "it has another subject" if _has_other_subject(new, old) else ""


def _has_other_holder(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Tell whether one statement is about its speaker and the other about another person's matter."""
    if new.of_speaker:
        holder = content_terms(old.subject)
        return bool(holder) and not holder & new.terms
    return bool(new.subject_names) and not new.subject_names & old.names and "over" in new.cues


def _has_other_possession(newer: str, older: str) -> bool:
    """Tell whether both are about different attributes or holders: "Ada's birthday", "Ben's birthday"."""
    mine, theirs = find_possession(newer), find_possession(older)
    if mine is None or theirs is None:
        return False
    (holder, attribute), (former, other) = mine, theirs
    same_holder = holder in former or former in holder
    return not (same_holder and (attribute.startswith(other) or other.startswith(attribute)))


def _find_subject_labels(statement: str) -> frozenset[str]:
    return find_labels(find_subject(statement))


def _has_other_subject(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Tell whether two statements of the same form have different subjects ("Row A is …", "Row C is …") or verbs."""
    mine, theirs = tokens(new.text), tokens(old.text)
    matcher = SequenceMatcher(None, theirs, mine, autojunk=False)
    if matcher.ratio() < _SAME_FORM:
        return False
    ends = max(len(tokens(old.subject)), 1), max(len(tokens(new.subject)), 1)
    for tag, start, end, at, last in matcher.get_opcodes():
        added = telling(mine[at:last])
        if tag == "replace" and start < ends[0] and at < ends[1] and telling(theirs[start:end]) and added:
            return True
        if (
            tag == "insert"
            and not new.chinese
            and at < ends[1]
            and any(word in new.subject_words and word not in theirs for word in added)
        ):
            return True
    if _differ_in_several_words(matcher, theirs, mine):
        return True
    verbs = old.verb, new.verb
    return not new.chinese and all(verbs) and verbs[0] != verbs[1] and not new.cues & TELLING


def _differ_in_several_words(matcher: SequenceMatcher[str], theirs: tuple[str, ...], mine: tuple[str, ...]) -> bool:
    """Tell whether statements of the same form differ in several places: "20 for a gym", "30 for a pool"."""
    slots = [
        [*telling(theirs[start:end]), *telling(mine[at:last])]
        for tag, start, end, at, last in matcher.get_opcodes()
        if tag == "replace" and telling(theirs[start:end]) and telling(mine[at:last])
    ]
    return len(slots) > 1 and any(all(map(_is_noun, slot)) for slot in slots)


def _is_noun(word: str) -> bool:
    """Tell whether an English word is neither a value nor a verb."""
    return word.isascii() and word.isalpha() and word not in _VALUE_WORDS and word not in FINITE


def is_correction(newer: str, older: str) -> bool:
    """Tell whether `newer` repeats `older`, of the same thing and in the same form, except for one value."""
    newer = _DENIAL.sub("", newer)
    mine, theirs = tokens(newer), tokens(older)
    matcher = SequenceMatcher(None, theirs, mine, autojunk=False)
    same_form = matcher.ratio() >= _SAME_FORM and _count_slots(matcher, theirs, mine) == 1
    return same_form and not find_obstacle(newer, older) and is_negated(newer) == is_negated(older)


def score_update(newer: str, older: str, cosine: float) -> float:
    """Return the probability (0..1) that `newer` gives a new value of `older`, if no obstacle forbids it.

    `cosine` (−1..1) is the cosine of both statements under the bundled embedding model.
    """
    weights, chinese = _load_weights(), read(older).chinese
    total = 0.0
    for name, value in compute_features(newer, older, cosine).items():
        if value:
            shared, extra = weights[name]
            total += value * (shared + extra if chinese else shared)
    return 1 / (1 + math.exp(-total))


def can_reach(newer: str, older: str) -> bool:
    """Tell whether the statements could be linked with the highest possible cosine."""
    return score_update(newer, older, HIGHEST_COSINE) >= LINKED_FROM


@lru_cache(maxsize=1)
def _load_weights() -> Mapping[str, tuple[float, float]]:
    return {name: (shared, extra) for name, (shared, extra) in json.loads(WEIGHTS_FILE.read_text("utf-8")).items()}


def compute_features(newer: str, older: str, cosine: float) -> dict[str, float]:
    """Compute the features of a pair by name, each within about −1..1."""
    new, old = read(newer), read(older)
    matcher = SequenceMatcher(None, tokens(older), tokens(newer), autojunk=False)
    ratio, slots = matcher.ratio(), _count_slots(matcher, tokens(older), tokens(newer))
    copula = float(old.verb == new.verb == "be")
    clashes = [_clash(kind, newer, older) for kind in _VALUE_KINDS]
    clash, told = float(any(one for one, _ in clashes)), float(bool(new.cues & TELLING))
    found = {
        "bias": 1.0,
        "cosine": cosine,
        "cosine squared": cosine * cosine,
        "cosine above .5": max(0.0, cosine - 0.5),
        "cosine below .3": max(0.0, 0.3 - cosine),
        "told": told,
        "told, cosine": told * cosine,
        "clash": clash,
        "clash, cosine": clash * cosine,
        "clash, told": clash * told,
        "neither": (1 - told) * (1 - clash),
        "same words": ratio,
        "same words squared": ratio * ratio,
        "same words, clash": ratio * clash,
        "same words, told": ratio * told,
        "same words, cosine": ratio * cosine,
        "copula": copula,
        "copula, same words": copula * ratio,
        "copula, told": copula * told,
        "same verb": float(bool(old.verb) and old.verb == new.verb),
        "same verb, same words": float(bool(old.verb) and old.verb == new.verb) * ratio,
        "one slot": float(slots == 1),
        "one slot, same words": float(slots == 1) * ratio,
        "one slot, copula": float(slots == 1) * copula,
        "one slot, told": float(slots == 1) * told,
        "one slot, clash": float(slots == 1) * clash,
        "one slot, clash, told": float(slots == 1) * clash * told,
        "one slot, names": float(slots == 1) * float(bool(new.names - old.names) and bool(old.names - new.names)),
        "several slots": float(slots > 1),
        "several slots, same words": float(slots > 1) * ratio,
        "length of the newer": min(len(newer), 120) / 120,
        "length of the older": min(len(older), 120) / 120,
        "longer": min(len(newer) / max(1, len(older)), 3) / 3,
        "shorter": min(len(older) / max(1, len(newer)), 3) / 3,
    }
    for number, (differs, agrees) in enumerate(clashes):
        found[f"value {number} differs"] = float(differs)
        found[f"value {number} agrees"] = float(agrees)
    found |= _compare_words(new, old, cosine, told, clash) | _compare_holders(new, old)
    found |= {f"newer {cue}": 1.0 for cue in new.cues} | {f"older {cue}": 1.0 for cue in old.cues}
    return found


def _count_slots(matcher: SequenceMatcher[str], theirs: tuple[str, ...], mine: tuple[str, ...]) -> int:
    """Count the places where the newer statement has other content words than the older one."""
    return sum(
        tag == "replace" and bool(telling(theirs[start:end])) and bool(telling(mine[at:last]))
        for tag, start, end, at, last in matcher.get_opcodes()
    )


def list_features() -> list[str]:
    """Return the names of all features."""
    sample = compute_features("a", "b", 0.0)
    return [*sample, *(f"{side} {cue}" for side in ("newer", "older") for cue in CUES)]


def _clash(kind: re.Pattern[str], newer: str, older: str) -> tuple[bool, bool]:
    """Tell whether both have values of this kind that all differ, and whether they share one."""
    mine = {value.lower() for value in kind.findall(newer)}
    theirs = {value.lower() for value in kind.findall(older)}
    return bool(mine and theirs and not mine & theirs), bool(mine & theirs)


def _compare_words(
    new: ParsedStatement, old: ParsedStatement, cosine: float, told: float, clash: float
) -> dict[str, float]:
    """Compute the features of shared index terms, of the whole statements and of their subjects and predicates."""
    common = new.terms & old.terms
    of_older, of_newer = _share(common, old.terms), _share(common, new.terms)
    subject, predicate = _share(old.subject_terms, new.terms, of=True), _share(old.predicate_terms, new.terms, of=True)
    kept = float(bool(old.subject_terms) and subject == 1)
    apart = bool(content_terms(old.subject) - new.terms) and bool(content_terms(new.subject) - old.terms)
    return {
        "share of the older": of_older,
        "share of the newer": of_newer,
        "share of both": of_older * of_newer,
        "common terms": min(len(common), 4) / 4,
        "nothing in common": float(not common),
        "half of the older": float(of_older >= 0.5),
        "share of the older, cosine": of_older * cosine,
        "share of the newer, cosine": of_newer * cosine,
        "share of the older, told": of_older * told,
        "share of the older, clash": of_older * clash,
        "subject kept": subject,
        "subject kept, cosine": subject * cosine,
        "no older subject": float(not old.subject_terms),
        "predicate kept": predicate,
        "subject without predicate": subject * (1 - predicate),
        "whole subject": kept,
        "whole subject, cosine": kept * cosine,
        "whole subject, other predicate": kept * float(predicate < 1),
        "newer subject known": _share(new.subject_terms, old.terms, of=True),
        "newer predicate known": _share(new.predicate_terms, old.terms, of=True),
        "no newer subject": float(not new.subject_terms),
        "two subjects": float(apart),
        "two subjects, cosine": float(apart) * cosine,
    }


def _share(some: frozenset[str], all_terms: frozenset[str], *, of: bool = False) -> float:
    """Return the share of `all_terms` that is in `some`; with `of`, the share of `some` that is in `all_terms`."""
    return len(some & all_terms) / max(1, len(some if of else all_terms))


def _compare_holders(new: ParsedStatement, old: ParsedStatement) -> dict[str, float]:
    """Compute the features of the people that the statements are about."""
    named_anew = bool(new.subject_names) and not new.subject_names & old.names
    return {
        "new people": float(bool(new.people - old.people)),
        "new people, none before": float(bool(new.people - old.people) and not old.people),
        "lost people": float(bool(old.people - new.people)),
        "same people": float(bool(new.people & old.people)),
        "both of the speaker": float(new.of_speaker and old.of_speaker),
        "older of the speaker only": float(old.of_speaker and not new.of_speaker),
        "newer of the speaker only": float(new.of_speaker and not old.of_speaker),
        "names differ": float(bool(new.names - old.names) and bool(old.names - new.names)),
        "same name": float(bool(new.names & old.names)),
        "name in the older only": float(bool(old.names) and not new.names & old.names),
        "name in the newer only": float(bool(new.names) and not old.names),
        "new name as subject": float(named_anew),
    }
