"""Finds moods that keep a statement from ending or updating an earlier one, such as asking, supposing or recalling.

The cues are closed lists of English and Chinese words. A statement without a mood asserts something from now on.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from memory.text.sentences import is_question


class Mood(StrEnum):
    """An act of a statement other than asserting something from now on."""

    ASKS = "it asks"
    SUPPOSES = "it supposes, wishes, plans or jokes"
    QUOTES = "it tells what somebody else says"
    FOR_NOW = "it holds for a short time only"
    ADDS = "it adds something"
    KEEPS = "it says that nothing changed"
    RECALLS = "it tells of the past"
    ADDRESSES = "it speaks of whom it is said to"
    RANGES = "it gives a range"


_PATTERNS = {
    Mood.SUPPOSES: (
        r"\b(?:if|unless|suppos\w+|imagin\w+|might|maybe|perhaps|possibly|probably|would|could|should|wish\w*|hop(?:e|es|ing)"
        r"|intend\w*|plan(?:s|ning)? (?:to|on)|think(?:ing)? (?:of|about)|considering|tempted|dream\w*|someday|one day|almost"
        r"|nearly|kidding|joking|pretend\w*|i'd|we'd|(?:keep|kept) (?:talking|saying)|next (?:year|month|spring|summer|autumn|winter)"
        r"|going to|want(?:s|ed)? to)\b"
        r"|如果|要是|假如|万一|除非|可能|也许|或许|希望|但愿|打算|考虑|想(?!起|到|法)|梦|将来|差点|开玩笑|比如|的话|说不定|要不要|应该"
    ),
    Mood.QUOTES: (
        r"\b(?:says?|said|told|tells|claim(?:s|ed)?|heard|reckons?|apparently|rumou?rs?|according to|advert|reads?|thinks|thought|in (?:the|my|a)"
        r" (?:novel|story|book|film|movie|show|play|series))\b|[“\"「]"
        r"|听说|据说|传言|有人|以为|小说|电影|广告|剧里|[他她人]说|上写|有人讲"
    ),
    Mood.FOR_NOW: (
        r"\b(?:today only|only today|only for today|just (?:for )?(?:today|tonight|this|once)|for once|this once|tonight"
        r"|temporar\w+|exceptionally|for (?:now|a day|the (?:day|week|weekend|summer|moment)))\b"
        r"|今晚(?!起|开始)|就今天|只有今天|今天例外|临时|暂时|破例|例外|就这一次|[就只]这[次回]"
    ),
    Mood.ADDS: (
        r"\b(?:too|also|as well|another|additional\w*|besides|in addition|second|one more|both|plus)\b"
        r"|也|另外|另一|还有|又(?![改换涨变搬降])|第二|除了|多了"
    ),
    Mood.KEEPS: (
        r"\b(?:never|haven't|hasn't|have not|has not|didn't|did not|not) (?:\w+ )?(?:stop\w*|sold|sell|left|leave|quit\w*"
        r"|cancel\w*|given up|gave up|chang\w+|moved)\b|\b(?:still|unchanged|as (?:before|ever|always))\b"
        r"|没(?:有)?(?:卖|停|退|戒|搬|换|改|取消|走|丢)|还在|仍|依旧|依然|照旧|老样子"
    ),
    Mood.RECALLS: (
        r"\b(?:used to|back then|formerly|previously|years? ago|as a (?:kid|child|student)|when i was|last (?:year|summer|winter))\b"
        r"|(?:\b(?:have|has)|'ve) \w+ [^.;]*\b(?:twice|\w+ times)\b(?! an? \w)|过[^，。；]{0,10}[次回遍趟]"
        r"|以前|之前|曾经|原来|小时候|当年|去年|前年"
    ),
    Mood.ADDRESSES: r"\b(?:you|your|yours)\b|[你您]",
    Mood.RANGES: r"\bfrom \d[\d,.]* (?:\w+ )?to \d|\bbetween \d|从\d[\d,.]*[^，。]{0,8}到\d|\d到\d|之间",
}
_FIND = {mood: re.compile(pattern, re.IGNORECASE) for mood, pattern in _PATTERNS.items()}


@lru_cache(maxsize=1024)
def find_moods(sentence: str) -> frozenset[Mood]:
    """Return the moods of `sentence`; a plain assertion has none."""
    plain = sentence.replace("’", "'")
    found = {mood for mood, pattern in _FIND.items() if pattern.search(plain)}
    if is_question(plain):
        found.add(Mood.ASKS)
    return frozenset(found)
