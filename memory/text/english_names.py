"""Finds and classifies names in English sentences by their own words, the surrounding words and word lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory.enums import EntityKind
from memory.text import name_cues as cues
from memory.text.names import MAX_NAME_CHARS, TITLES, Lexicon, NameMatch, is_wide, name_key

_LATIN = "[A-Za-z0-9À-ÖØ-öø-ɏ]"
_TOKEN = (
    rf"(?:{cues.CAPITAL}\.(?=[ ]?{cues.CAPITAL})|(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\."
    rf"|{cues.CAPITAL}{_LATIN}*(?:['’-]{_LATIN}+)*|i[A-Z][a-z]+)"
)
_BETWEEN = "(?:(?:of the|of|de la|de|van|von|der|du|da|di|al|bin|for the|&)[ ])?"
_SEQUENCE = re.compile(rf"(?<![A-Za-z0-9À-ɏ_@#$%&.-])(?<![A-Za-z]['’]){_TOKEN}(?:[ ]{_BETWEEN}{_TOKEN})*")
_INNER = re.compile(rf"{_TOKEN}|[a-z&]+")
_QUOTED = re.compile(rf"[\"“]({cues.CAPITAL}[^\"“”\n]{{1,58}}[^\"“”\n.,!?;:])[,.]?[\"”]")
_PROJECT = re.compile(
    rf"\b(?:project|initiative)(?:\s\w+)?\s(?:titled|called|named)\s['‘\"“]({cues.CAPITAL}[^'‘’\"“”\n]{{2,78}})['’\"”]"
    rf"|\b(?:the|our|my)\s['‘\"“]({cues.CAPITAL}[^'‘’\"“”\n]{{2,78}})['’\"”]\s(?:project|initiative|proposal)\b"
)
_WORD = re.compile(r"[^\W\d_]+")
_POSSESSIVE = re.compile(r"['’]s?$")
_WITHIN = re.compile(r"\b(?:in|near|to)\s+$")
_IN = re.compile(r"\bin\s+$")
_AT = re.compile(r"\b(?:at|by|from)\s+(?:the\s+)?$")
# A clause begins after these, so a capital letter there says little, too.
_CLAUSE = re.compile(r"[:;“\"(]\s*$")
_TITLE_BEGINS = re.compile(r"[“\"*_]\s*$")
_ABBREVIATED = re.compile(r"\b[A-Z]{2,}\b")
_CONNECTING = frozenset("with from into over upon about than that".split())
# Number of characters to the left of a name that are searched for cues.
_BEFORE = 60
_AFTER = 30
MAX_PERSON_WORDS = 4


class _Place(NamedTuple):
    """A part of a sentence that may be a name.

    `opens` is True if the sentence begins with it, so that its capital letter says little.
    """

    name: str
    start: int
    end: int
    before: str
    after: str
    opens: bool

    def to_match(self, kind: EntityKind, weight: int) -> NameMatch:
        return NameMatch(self.start, self.end, self.name, kind, weight)


def find_english_names(text: str, start: int, end: int, lexicon: Lexicon) -> list[NameMatch]:
    """Return the names in the sentence text[start:end]; they may overlap."""
    sentence = text[start:end]
    found = [
        NameMatch(match.start(1), match.end(1), match.group(1), EntityKind.THING, 2)
        for match in _QUOTED.finditer(sentence)
        if _is_title(match.group(1)) and cues.NEAR_WORK.search(sentence, max(0, match.start() - _BEFORE), match.start())
    ]
    for match in _PROJECT.finditer(sentence):
        group = 1 if match.group(1) else 2
        found.append(NameMatch(match.start(group), match.end(group), match.group(group), EntityKind.PROJECT, 3))
    words = _WORD.findall(sentence)
    capitals = sum(word[0].isupper() and word != "I" for word in words)
    # Capitals say nothing in a heading or a row of labels: only names on the lists count there.
    headline = len(words) > 5 and capitals > 0.6 * len(words)
    for match in _SEQUENCE.finditer(sentence):
        for place in _parts(match, sentence):
            named = _classify(place, lexicon)
            if named is not None and not (headline and named.kind not in (EntityKind.PERSON, EntityKind.PLACE)):
                found.append(named)
    return [named._replace(start=start + named.start, end=start + named.end) for named in found]


def _is_title(quoted: str) -> bool:
    """Tell whether every significant word of `quoted` is capitalised, as in the title of a book or a song."""
    words = [word for word in _WORD.findall(quoted) if len(word) > 3 and word not in _CONNECTING]
    return 0 < len(words) <= 8 and all(word[0].isupper() for word in words) and quoted.lower() not in cues.OPENERS


def _parts(match: re.Match[str], sentence: str) -> Iterator[_Place]:
    """Split a sequence of capitalised words at those whose capital has another reason than being part of a name."""
    tokens = [(match.start() + token.start(), match.start() + token.end()) for token in _INNER.finditer(match.group())]
    parts: list[list[tuple[int, int]]] = [[]]
    begins = {match.start()} if match.start() == 0 or _CLAUSE.search(sentence[: match.start()]) else set()
    for start, end in tokens:
        key = name_key(sentence[start:end])
        if key in cues.NO_NAMES or (start in begins and key in cues.OPENERS):
            parts.append([])
        else:
            parts[-1].append((start, end))
        if _POSSESSIVE.search(sentence[start:end]):
            parts.append([])
    for part in parts:
        while part and not _begins_name(sentence[slice(*part[0])]):
            part.pop(0)
        while part and not _begins_name(sentence[slice(*part[-1])]):
            part.pop()
        if part:
            start, end = part[0][0], part[-1][1]
            name = _POSSESSIVE.sub("", sentence[start:end])
            end = start + len(name)
            before, after = sentence[max(0, start - _BEFORE) : start], sentence[end : end + _AFTER]
            yield _Place(name, start, end, before, after, start in begins and not _TITLE_BEGINS.search(before))


def _begins_name(word: str) -> bool:
    return word[0].isupper() or cues.CAMEL.fullmatch(word) is not None


def _classify(place: _Place, lexicon: Lexicon) -> NameMatch | None:
    key = name_key(place.name)
    words = key.split()
    if len(key) < 2 or len(place.name) > MAX_NAME_CHARS or not key[0].isalpha():
        return None
    titled = len(words) < len(place.name.split()) and name_key(place.name.split(maxsplit=1)[0].rstrip(".")) in TITLES
    if titled and not all(_is_plain(word, lexicon) for word in words):
        return place.to_match(EntityKind.PERSON, 3)
    if key in lexicon.places:
        return _place_or_person(place, key, lexicon)
    if cues.BEFORE_PET.search(place.before):
        return place.to_match(EntityKind.THING, 2)
    if cues.BEFORE_PERSON.search(place.before) and words[0] != "the" and not _roles(words):
        return place.to_match(EntityKind.PERSON, 3)
    return _of_words(place, words, lexicon) if len(words) > 1 else _of_one_word(place, key, lexicon)


def _place_or_person(place: _Place, key: str, lexicon: Lexicon) -> NameMatch | None:
    """Classify a name on the list of places. If people have it, too, the surrounding words decide, or it is dropped."""
    if key.split(maxsplit=1)[0] not in lexicon.first_names:
        return place.to_match(EntityKind.PLACE, 2)
    if cues.GREETING.search(place.before) or cues.SAYS.match(place.after):
        return place.to_match(EntityKind.PERSON, 1)
    return place.to_match(EntityKind.PLACE, 2) if cues.NEAR_PLACE.search(place.before) else None


def _of_words(place: _Place, words: list[str], lexicon: Lexicon) -> NameMatch | None:
    """Classify a name of several words."""
    plain = [_is_plain(word, lexicon) for word in words]
    if _roles(words) or cues.FORM_WORDS.intersection(words):
        return None
    kind = _kind_by_own_words(place, words, plain, lexicon)
    if kind is not None:
        return place.to_match(kind, 2)
    if cues.AFTER_PROJECT.match(place.after):
        return place.to_match(EntityKind.PROJECT, 1)
    if cues.BEFORE_ORGANISATION.search(place.before):
        return place.to_match(EntityKind.ORGANISATION, 1)
    if cues.BEFORE_PLACE.search(place.before):
        return None if _is_personal(words, lexicon) else place.to_match(EntityKind.PLACE, 1)
    if _is_personal(words, lexicon) and not _ABBREVIATED.search(place.name):
        return place.to_match(EntityKind.PERSON, 2)
    if place.opens or not _may_be_thing(place, words, lexicon):
        return None
    personal = _may_be_personal(words, lexicon) and not _ABBREVIATED.search(place.name)
    return place.to_match(EntityKind.PERSON if personal else EntityKind.THING, 0)


def _kind_by_own_words(place: _Place, words: list[str], plain: list[bool], lexicon: Lexicon) -> EntityKind | None:
    """Return the kind that the first or last words of a name imply, if any."""
    last = words[-1]
    if words[0] in cues.RANKS and not lexicon.is_common(words[1]) and words[1] not in ("of", "st", "st."):
        return EntityKind.PERSON
    if last in cues.FIRM_ENDS or words[:2] == ["university", "of"]:
        return EntityKind.ORGANISATION
    if last in cues.ORGANISATION_ENDS and not all(plain[:-1]):
        return EntityKind.ORGANISATION
    named_project = words[0] == "project" and words[1] not in cues.OF_A_PROJECT
    if named_project or (last in cues.PROJECT_ENDS and not all(plain[:-1])):
        return EntityKind.THING if _TITLE_BEGINS.search(place.before) else EntityKind.PROJECT
    by_end = last in cues.PLACE_ENDS and not (place.opens and all(plain))
    if by_end or words[0] in cues.PLACE_BEGINNINGS or {"st", "st."}.intersection(words[1:]):
        return EntityKind.PLACE
    return None


def _is_personal(words: list[str], lexicon: Lexicon) -> bool:
    """Tell whether the words are a first name and what follows it: "Anna Lee", "George R. R. Martin"."""
    if not 2 <= len(words) <= MAX_PERSON_WORDS or words[0] not in lexicon.first_names:
        return False
    if words[0] in lexicon.places and lexicon.is_common(words[-1]):
        return False
    return words[-1] in lexicon.last_names or not any(map(lexicon.is_common, words))


def _may_be_personal(words: list[str], lexicon: Lexicon) -> bool:
    """Tell whether the last word is a surname, for names that nothing else classifies."""
    return len(words) < MAX_PERSON_WORDS and words[-1] in lexicon.last_names and not any(map(lexicon.is_common, words))


def _may_be_thing(place: _Place, words: list[str], lexicon: Lexicon) -> bool:
    """Tell whether a name of several words is more than a heading or a row of abbreviations."""
    odd = place.name.isupper() or "&" in place.name or words[0] == "project"
    if odd or any(len(word) == 1 or word[0].isdigit() for word in words) or cues.NO_THING.search(place.name):
        return False
    return not all(lexicon.is_common(word) or cues.ABSTRACT.search(word) for word in words)


def _of_one_word(place: _Place, key: str, lexicon: Lexicon) -> NameMatch | None:
    """Classify a name of one word; it is dropped if the surrounding words don't explain it."""
    if place.name.isupper() and len(key) < 7:
        works = cues.BEFORE_ORGANISATION.search(place.before) and _AT.search(place.before)
        return place.to_match(EntityKind.ORGANISATION, 1) if works else None
    plain = lexicon.is_common(key)
    camel = cues.CAMEL.fullmatch(place.name) is not None
    if key in lexicon.first_names and not plain:
        if (
            cues.BEFORE_PLACE.search(place.before)
            and _WITHIN.search(place.before)
            and not place.after.startswith(("'", "’"))
        ):
            return place.to_match(EntityKind.PLACE, 1)
        # Places missing from the lists share names with people, and people are seldom "in" anything.
        if _IN.search(place.before) and not place.after.startswith(("'", "’")):
            return None
        said = (
            not place.opens
            or cues.AFTER_PERSON.match(place.after)
            or place.after[:1] in ("!", ",", "'", "’")
            or is_wide(place.after[:1])
        )
        return place.to_match(EntityKind.PERSON, 2) if said else None
    if plain and (place.opens or key not in lexicon.first_names):
        return None
    if cues.GREETING.search(place.before) and place.after[:1] in ("!", ",", ".", "?"):
        return None if camel else place.to_match(EntityKind.PERSON, 1)
    if cues.BEFORE_ORGANISATION.search(place.before):
        return place.to_match(EntityKind.ORGANISATION, 1)
    if plain:
        return None
    if cues.BEFORE_PLACE.search(place.before):
        return place.to_match(EntityKind.PLACE, 1)
    if camel:
        return None if cues.NO_THING.search(place.name) else place.to_match(EntityKind.THING, 1)
    return None


def _roles(words: list[str]) -> bool:
    """Tell whether a name contains an office or a part of a plan, in the singular or the plural."""
    return any(word in cues.ROLES or word.removesuffix("s") in cues.ROLES for word in words)


def _is_plain(word: str, lexicon: Lexicon) -> bool:
    """Tell whether a word of a name is an everyday word and no surname."""
    return lexicon.is_common(word) and word not in lexicon.last_names
