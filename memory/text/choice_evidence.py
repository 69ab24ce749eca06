"""Confirms by strict rules that a turn makes a choice that a language model read from it.

The model names the chosen object and the turns; the stored wording comes from the rules for choices. A turn confirms
the choice if one of its sentences contains all words of the object after a verb of choosing, or of turning down, whose
subject is the speaker. Sentences that ask, suppose, plan, quote, play or make an exception don't count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from memory.enums import FactRefusal
from memory.text import choice_cues as cues
from memory.text import choice_things as things
from memory.text import preference_limits as limits
from memory.text.analysis import FUNCTION_CHARACTERS, is_cjk, terms
from memory.text.choices import (
    MAX_KEY_TERMS,
    MAX_SENTENCE_CHARS,
    MAX_TURN_CHARS,
    Occasion,
    TurnChoice,
    find_occasions,
    is_unreal,
    reduce_key,
)
from memory.text.facts import UNWRITABLE
from memory.text.model_evidence import read_evidence
from memory.text.sentences import is_question
from memory.text.statements import Turn
from memory.text.utterances import own_statements

MAX_OBJECT_CHARS = 60
MAX_OBJECT_WORDS = 6
# Number of turns that one choice may name.
MAX_EVIDENCE = 20
_WORD = re.compile(r"[a-z0-9'-]+")

_OPENING = re.compile(
    r"^(?:(?:no|nope|yes|yeah|ok(?:ay)?|hi|hello|hey|great|perfect|good|lovely|nice|thanks|thank you|well|hm+|so|then|and"
    r"|actually|alright|all right|please|today|yesterday|this morning|last night)\b[,!. ]*)*"
)
_CHOOSES = (
    r"book|booked|pick|picked|take|took|taken|choose|chose|chosen|order|ordered|grab|grabbed|opt|opted|settle|settled|select"
    r"|selected|reserve|reserved|buy|bought|rent|rented|hire|hired|booking|picking|taking|choosing|ordering"
)
# These verbs have many other meanings: they count only for things of a kind that people choose between.
_ALSO = r"get|got|getting|have|had|having|go|went|going|stay|stayed|staying|sit|sat|sitting|stick with|stuck with"
# The speaker, and words that may stand between the speaker and the verb.
_OWN = (
    r"(?:^|\b(?:i|we)(?:'ve|'ll| have| will)?\s|\blet me\s|\blet's\s|\b(?:could|can|would|will) you\s)"
    r"(?:(?:just|then|again|also|always|usually|once|finally|simply|please|only|still|happily|gladly|end up|ended up"
    r"|went and|go and|decided to|chose to|had|got|to|me|myself)\s)*"
)
_TAKES = re.compile(rf"{_OWN}(?:(?:{_CHOOSES})|(?P<also>{_ALSO}))\b(?: (?:for|with|on|at|in)\b)?")
_DENIED = re.compile(
    r"\b(?:no|not|never|without|nothing|none|neither|nor|hardly|instead of|rather than|almost|nearly|cancel\w*|return(?:ed|ing)?"
    r"|refus\w*|declin\w*|skip\w*|avoid\w*|regret\w*|hate[ds]?|cannot|rarely|seldom"
    r"|mistake\w*|accident\w*|sadly|unfortunately|wrong\w*|forced|reluctantly|once(?! more)|from (?:him|her|them|you))\b|n't\b"
)
_TURNS_DOWN = re.compile(
    rf"^(?:please )?(?:skip|hold|leave out|leave off)\b"
    rf"|{_OWN}(?:skip|skipped|pass on|passed on|turn down|turned down|decline|declined|refuse|refused|avoid|avoided|leave out|left out)\b"
    rf"|{_OWN}(?:{_CHOOSES}|get|got|have|had|make)\b[^,.;]*?(?P<also>\b(?:without|instead of|rather than|with no|not)\b)"
)
# Words that may stand between the verb and the thing ("me the good old"), but no second thing.
_BEFORE = re.compile(
    r"\s*(?:(?:me|myself|us|mine)\s)?(?:(?:the|an?|some|any|all|my|our|more)\s)?"
    r"(?:(?!(?:the|an?|his|him|her|them|you|their|my|your|our|about|in|on|at|of|with|near|for|from|to|by|over|after|before|as|that|which|and|but"
    r"|back|away|off|out|up|down|care|part|too|last|only|first|next|new|other|another|different|wrong|bad)\b)[\w'-]+\s){0,2}"
)
# Matches what may follow the thing: "the coffee break" is not coffee.
_BEHIND = re.compile(
    r"\s*(?:$|[,.;:!?()-]|(?:again|once|as|like|a|an|the|for|with|at|by|in|on|near|from|of|to|and|but|over|please|instead|rather|without|too|also|then|now"
    r"|every|each|when|while|today|yesterday|tonight|thanks|always|it|i|we|yet|always|usual|(?P<carrier>[a-z]+))\b)"
)
# A coffee table is not coffee, whereas a corner table is one in the corner.
_FURNITURE = frozenset("seat seats table room car class train bus".split())
_SERVED = frozenset(
    terms(
        "coffee espresso tea juice milk water wine beer cider cocktail breakfast lunch brunch dinner dessert buffet food"
    )
)
# The thing was spilt or given away: "wine on my shirt", "peanuts for the birds".
_NOT_TAKEN = re.compile(
    r"\s*(?:all )?(?:(?:on|over|down|in|onto|into) (?:to )?(?:my|our|the|his|her|their)(?: \w+)? (?:shirts?|blouse|dress|skirt|trousers|pants|jeans|jacket|coat|tie|sleeves?"
    r"|sweater|shoes?|clothes|carpet|rug|sofa|couch|floor|wall|tablecloth|keyboard|laptop|phone|hands?|face|hair|eyes?|beard|lap|books?|papers?|bag)\b"
    r"|(?:for|to feed) (?:the|our|my|your|some|those|these|a|an)(?: \w+)? (?:birds?|ducks?|pigeons?|squirrels?|hens?|chickens?|horses?|ponies|pony|rabbits?|hamsters?|fish|mice|bees|pets?|puppy"
    r"|puppies|kittens?|dogs?|cats?|goats?|parrots?|plants?|wedding|party|office|school|shop|club|church|raffle|bake sale|photos?|recipe|experiment|class|others)\b"
    r"|as (?:a|an) (?:gift|present)\b)"
)
_BEHIND_NOT_TAKEN_ZH = re.compile(
    r"[桌机杯壶柜架店厅馆渍色豆]|广告|.{0,4}(?:喂|[给替帮](?!我|自己)|送(?!到|来|上)|[溅洒弄]到)"
)
_BEFORE_ZH = re.compile(r"[了过]?[一两1-9]?[个份杯张间家瓶碗盘件款种套只块支条台趟]?(?:[^，。,的你您他她]{1,4}的)?")
# Matches the name of a recipient; days and months are not names.
_FOR_NAME = re.compile(
    r"\bfor (?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b|I\b)[A-Z]"
)
# An unavailable thing was not turned down.
_FAILED = re.compile(
    r"\b(?:could|can|was|were|is|are|had|has|have)(?:n't| not)\b|\b(?:cannot|sold out|unable|unavailable|forgot\w*|left over|no longer|ran out)\b"
)
_UNREAL = re.compile(
    r"\b(?:would(?! you)|should|wanted? to|want|plan\w*|going to|hop(?:e|ed|ing) to|try|tried|trying|need\w*|must|about to|tell|have to|had to|because|since|for now|for the moment|temporarily)\b|\b\w+'d\b"
)
_ALWAYS = re.compile(
    r"\b(?:again|once more|as (?:always|usual|ever)|like (?:always|last time|every time)|(?:the|my) usual|same as|every time"
    r"|(?:a|the|for the) (?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d+th) time)\b"
    r"|还是|照旧|照常|老样子|老规矩|一如既往|依旧|又[选订定点买坐要来用挑拿]|第[二三四五六七八九十\d]+次|(?:跟|和|像|同)(?:上次|往常|平时)一样"
)
_OWN_ZH = (
    r"^(?:(?:好的?|嗯+|行|可以|那|不|不了|不用|算了|谢谢|你好|您好|麻烦|请|哦|对|还是|老样子|照旧)[，,。！! ]*)*"
    r"(?:我们?|咱们?|自己|今天|昨天|今晚|昨晚|早上|晚上|中午|又|还是|再|就|也|照样|照旧|果断|直接|依旧|仍然|仍旧|最后|于是|请|麻烦"
    r"|帮我?|给我|替我|这趟|第[二三四五六七八九十\d]+次|[，, ])*"
)
_TAKES_ZH = re.compile(
    rf"{_OWN_ZH}(?:预订|订|定|选(?![择举修课])|点(?![头击开评名])|买|坐(?!下)|要|来(?![看说问想做回去聊谈])|挑|拿|住|租)"
)
_DENIED_ZH = re.compile(r"[不没别]|差点|退[了掉]|取消|后悔|讨厌")
_TURNS_DOWN_ZH = re.compile(
    rf"{_OWN_ZH}(?:(?:不要|别|不用)(?:再)?(?:放|加|点|选|订|上|来|推荐)|不要(?![告提说问想做去看听讲让再])|不加|不放|不选|不点|没要|没选|没点|去掉|拒绝了?|谢绝了?|避开|跳过)"
)
_FAILED_ZH = re.compile(r"送|没(?:有|买到|订到|抢到|货)|卖完|售罄|订不到|满了")
_UNREAL_ZH = re.compile(r"[想该得需]|打算|计划|准备|希望|应该|必须|只能|被迫")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A choice that a model read from the turns at `places`, each of which confirms it."""

    about: str
    wanted: bool
    key: frozenset[str]
    places: tuple[int, ...]


def check_choice(raw: Mapping[str, Any], turns: Sequence[Turn], *, first_new: int) -> ModelChoice | FactRefusal:
    """Return the choice in a model's `raw` answer if the turns confirm it, else the reason to refuse it.

    `raw` has a holder, an object, `wanted` and turns numbered from 1. All named turns must be the holder's and confirm
    the choice, and at least one must be new, that is at `first_new` or later.
    """
    named = read_evidence(raw, turns, first_new=first_new, most_turns=MAX_EVIDENCE, all_new=False)
    if isinstance(named, FactRefusal):
        return named
    about = " ".join(named.about.lower().replace("’", "'").split())
    key = key_of_object(about, wanted=named.wanted)
    if key is None:
        return FactRefusal.MALFORMED
    texts = [turns[place].text for place in named.places]
    if any(confirm_choice(text, (), about=about, wanted=named.wanted) is None for text in texts):
        return FactRefusal.UNSUPPORTED
    return ModelChoice(about, named.wanted, key, named.places)


def key_of_object(about: str, *, wanted: bool) -> frozenset[str] | None:
    """Return the terms of a lower-case object, or None if it isn't a thing that people can prefer."""
    if not about.strip() or len(about) > MAX_OBJECT_CHARS or UNWRITABLE.search(about) or "redacted" in about:
        return None
    if any(map(is_cjk, about)):
        if re.search(r"[，,。！!？?；;：:\s]", about) or cues.NO_OBJECT_ZH.search(about):
            return None
        if wanted and things.GENERAL_ZH.match(about):
            return None
        key = reduce_key(term for term in terms(about) if len(term) == 1 and term not in FUNCTION_CHARACTERS)
    else:
        words = about.split()
        if len(words) > MAX_OBJECT_WORDS or re.search(r"[^\w' -]", about) or words[0] in cues.NO_FIRST:
            return None
        if limits.SOMETHING.match(about) or limits.OF_OTHERS.search(about) or cues.ENGLISH_PLAN.search(about):
            return None
        key = reduce_key(terms(about))
        if wanted and len(key) == 1 and key <= things.GENERAL:
            return None
    return key if 0 < len(key) <= MAX_KEY_TERMS else None


def confirm_choice(text: str, retired: Sequence[tuple[int, int]], *, about: str, wanted: bool) -> TurnChoice | None:
    """Return the choice of `about` if a sentence of the turn confirms it, ignoring the spans in `retired`."""
    key = key_of_object(about, wanted=wanted)
    if key is None or limits.is_material(text, most_chars=MAX_TURN_CHARS):
        return None
    for statement in own_statements(text, retired):
        if len(statement.text) > MAX_SENTENCE_CHARS:
            continue
        if limits.QUOTE.search(statement.text) or _FOR_NAME.search(statement.text):
            continue
        if limits.OF_USERS.search(statement.text):
            continue
        sentence = statement.text.replace("’", "'").lower().strip()
        if _bears(sentence, about, key, wanted=wanted):
            counts = cues.AS_ALWAYS if _ALWAYS.search(sentence) else cues.ONE
            return TurnChoice(about, wanted, counts, key)
    return None


def _bears(sentence: str, about: str, key: frozenset[str], *, wanted: bool) -> bool:
    """Tell whether a lower-case sentence confirms the choice."""
    if not key <= reduce_key(terms(sentence)):
        return False
    if any(one.search(sentence) for one in (cues.EXCEPTION, cues.FOR_OTHERS, cues.PLAYED)) or is_unreal(sentence):
        return False
    if is_question(sentence) and not _ALWAYS.search(sentence):
        return False
    if any(map(is_cjk, sentence)):
        return _bears_chinese(sentence, about, key, wanted=wanted)
    return _bears_english(sentence, key, wanted=wanted)


def _bears_english(sentence: str, key: frozenset[str], *, wanted: bool) -> bool:
    said = _OPENING.sub("", sentence)
    if _UNREAL.search(said) or _FAILED.search(said) or (wanted and _DENIED.search(said)):
        return False
    cue = (_TAKES if wanted else _TURNS_DOWN).search(said)
    if cue is None or not key <= reduce_key(terms(said[cue.end() :])):
        return False
    if cue["also"] and key.isdisjoint(things.THINGS) and key.isdisjoint(terms(" ".join(things.QUALITIES))):
        return False
    # Only the first thing after the verb counts: "I had a fight about the window seat".
    rest = said[cue.end() :]
    named = [word for word in _WORD.finditer(rest) if not key.isdisjoint(terms(word.group()))]
    behind = _BEHIND.match(rest, named[-1].end())
    carrier = behind["carrier"] if behind else None
    if behind is None or (carrier and carrier not in things.CARRIERS):
        return False
    if carrier in _FURNITURE and not _SERVED.isdisjoint(terms(named[-1].group())):
        return False
    if wanted and _NOT_TAKEN.match(rest, named[-1].end()):
        return False
    return _BEFORE.fullmatch(rest[: named[0].start()]) is not None


def _bears_chinese(sentence: str, about: str, key: frozenset[str], *, wanted: bool) -> bool:
    if _UNREAL_ZH.search(sentence) or _FAILED_ZH.search(sentence) or (wanted and _DENIED_ZH.search(sentence)):
        return False
    cue = (_TAKES_ZH if wanted else _TURNS_DOWN_ZH).search(sentence)
    if cue is None or not key <= reduce_key(terms(sentence[cue.end() :])):
        return False
    rest = sentence[cue.end() :]
    start = rest.find(about)
    if start < 0:
        start = min(rest.index(term) for term in key if term in rest)
    elif wanted and _BEHIND_NOT_TAKEN_ZH.match(rest, start + len(about)):
        return False
    return _BEFORE_ZH.fullmatch(rest[:start]) is not None


def find_occasion(
    turn: T, *, text: str, retired: Sequence[tuple[int, int]], place: tuple[str, str], about: str, wanted: bool
) -> Occasion[T] | None:
    """Return the turn's choice of `about` by the rules for choices, else by `confirm_choice`, else None."""
    key = key_of_object(about, wanted=wanted)
    for one in find_occasions(turn, text=text, retired=retired, place=place):
        if one.choice.key == key:
            return one if one.choice.wanted == wanted else None
    confirmed = confirm_choice(text, retired, about=about, wanted=wanted)
    return None if confirmed is None else Occasion(turn, place, confirmed)
