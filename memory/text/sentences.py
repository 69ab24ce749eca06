"""Splits English, Chinese and mixed text into sentences, and recognises sentences without information.

The patterns for whole texts don't backtrack (possessive quantifiers), and the others read sentences of bounded length,
so that the time is linear in the length of any text.
"""

from __future__ import annotations

import re

from memory.text.analysis import is_cjk

MAX_SENTENCE_CHARS = 280
MAX_COURTESY_WORDS = 9
MAX_CHINESE_COURTESY_CHARS = 9
_ABBREVIATION_WINDOW = 12

_END = re.compile(r"[.!?。！？；…]++[\"'”’」』）)\]】》]*+|\n\s*+")
_CLAUSE_END = re.compile(r"[,;:]\s++|[，、：—–]++\s*+")
_BULLET = re.compile(r"^(?:[-*•·>#]++\s++|\(?\d{1,3}[.)、]\s*+(?!\d))++")
_WIDE_ENDS = frozenset("。！？；")

# Abbreviations that never end a sentence, and others that don't before a number ("No. 5", "Jan. 3").
_ABBREVIATIONS = frozenset("mr mrs ms dr prof st mt sr jr gen col sgt rev hon vs cf e.g i.e eg ie approx".split())
_NUMBER_ABBREVIATIONS = frozenset(
    "no nos fig figs eq sec ch vol p pp jan feb mar apr jun jul aug sep sept oct nov dec".split()
)

_FILLER = re.compile(
    r"^(?:(?:oh|wow|woah|whoa|hey|hi|hello|haha|hahaha|lol|hmm+|um+|uh|aww*|ah|gosh|omg|yay|and|but)\b(?!-)[\s,!….~]*+"
    r"|(?:yes|yeah|yep|yup|nah|no|nope|well|ok|okay|sure|so|thanks|thank you|cool|nice|great|awesome|totally"
    r"|absolutely|definitely|exactly|right|actually|anyway|honestly|by the way|btw|of course|for sure|you know|i mean)"
    r"(?:\s+(?:so much|a lot|man|dude|guys))?\s*+[,!…:—]++\s*+"
    r"|(?:嗯+|哦+|噢|啊|呃|哈+|嘿+|哎+|诶|唉|好的?|对了?|是的|是啊|行|没错|那个|其实|谢谢你?)[，,、！!。~… ]++)++",
    re.IGNORECASE,
)
_VOCATIVE = re.compile(r"^[A-Z][a-z]{1,14}[,!]\s++(?=\S)")

# Openings of short sentences that aren't worth keeping, whatever follows.
_COURTESY = re.compile(
    r"(?:hi|hello|hey|greetings|cheers|thx|thanks(?! to\b)|thank you|bye|goodbye|see (?:you|ya)|take care|best of luck"
    r"|good (?:morning|afternoon|evening|night|day|luck|job|point|idea|for you)|well done|way to go|same here|me too"
    r"|you too|talk (?:to you )?(?:soon|later)|have an? (?:good|great|nice|lovely|wonderful|fun|amazing)"
    r"|(?:great|good|nice|lovely) (?:to (?:see|hear|meet)|hearing|seeing|talking|work|job)|congrat(?:s|ulations)?"
    r"|long time no see|how are you|how's it going|what's up|(?:how|what) about you|no (?:problem|worries)|don't worry"
    r"|you're welcome|(?:it's )?my pleasure|anytime|can't wait|let me know|keep (?:it up|me posted|me updated|going)"
    r"|sounds (?:good|great|like|amazing|fun|awesome|nice|perfect)|you (?:got this|can do it|rock)"
    r"|(?:i'm |i am )?(?:so |really |very )?(?:glad|happy|sorry|excited|proud|thrilled) (?:to hear|for you|of you|you)"
    r"|i (?:totally |completely )?agree|i (?:hear you|get it|bet|hope so|think so|guess so)"
    r"|i(?:'d| would) love (?:to|that)$|(?:i )?appreciate (?:it|you|that|your))\b",
    re.IGNORECASE,
)
_CHINESE_COURTESY = re.compile(
    r"你好|您好|大家好|嗨|哈喽|早上好|早安|晚安|晚上好|下午好|谢谢|多谢|感谢|再见|拜拜|回头见|不客气|没关系|没事|辛苦了|太好了|太棒了"
    r"|真棒|不错|好的|好啊|好吧|好哒|行吧|可以的|没问题|明白|了解|收到|知道了|恭喜|加油|哈哈|是的|对的|当然|不好意思|很高兴认识|祝你"
)
_REACTION = re.compile(
    r"(?:what an?|how|so|such|sounds|looks|must (?:be|have)|you must|you're (?:so|such|really|very))\b"
    r"|that(?:'s| is| was| sounds| looks| must)\b|(?:那|这|你)(?:真|太|很|好|可|也|听起来)"
    r"|(?:真|太|好)[^，。]{1,4}[了啊呀]",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we've|we'll|us|our|ours)\b|我|咱|俺", re.IGNORECASE
)
_REQUEST = re.compile(r"\b(?:please|remind|make sure|don't forget)\b|请(?!问)|帮我|记得|提醒|别忘", re.IGNORECASE)
_QUESTION_END = re.compile(r"(?:[?？][!！?？]*|吗[。.!！~]*)[\"'”’」』）)\]]*$")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text` in order, without list bullets, each at most `MAX_SENTENCE_CHARS` long.

    A longer sentence is split at its commas; a piece without any is clipped with an ellipsis.
    """
    sentences: list[str] = []
    start = 0
    for end in (*sentence_ends(text), len(text)):
        sentences.extend(_pieces(text[start:end]))
        start = end
    return sentences


def sentence_ends(text: str) -> list[int]:
    """Return the ends of the sentences of `text`, in characters and after their marks; a last one needs a mark."""
    return [match.end() for match in _END.finditer(text) if _ends_sentence(text, match)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of `text` as (start, end) in characters, without list bullets and surrounding spaces.

    Sentences of more than `MAX_SENTENCE_CHARS` are left out.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*sentence_ends(text), len(text)):
        raw = text[start:end]
        body = _BULLET.sub("", raw.strip()).strip()
        if body and len(body) <= MAX_SENTENCE_CHARS:
            last = start + len(raw.rstrip())
            spans.append((last - len(body), last))
        start = end
    return spans


def strip_fillers(sentence: str) -> str:
    """Remove interjections at the start of `sentence` ("Oh, yeah, …", "嗯，…") and a name that follows them."""
    stripped = _FILLER.sub("", sentence)
    if stripped == sentence:
        return sentence
    stripped = _VOCATIVE.sub("", stripped)
    return stripped[:1].upper() + stripped[1:]


def is_question(sentence: str) -> bool:
    """Tell whether `sentence` only asks: a request ("please …?", "请…？") isn't a question."""
    return _QUESTION_END.search(sentence[-24:]) is not None and _REQUEST.search(sentence) is None


def is_first_person(sentence: str) -> bool:
    """Tell whether the speaker of `sentence` speaks of themselves or of their group."""
    return _FIRST_PERSON.search(sentence.replace("’", "'")) is not None


def is_small_talk(sentence: str) -> bool:
    """Tell whether `sentence` is a greeting, thanks, a wish or a bare agreement, with too little else to be kept."""
    plain = sentence.replace("’", "'")
    if any(map(str.isdigit, plain)):
        return False
    return bool(
        (_COURTESY.match(plain) and len(plain.split()) <= MAX_COURTESY_WORDS and not any(map(is_cjk, plain)))
        or (_CHINESE_COURTESY.match(plain) and len(plain) <= MAX_CHINESE_COURTESY_CHARS)
    )


def is_reaction(sentence: str) -> bool:
    """Tell whether `sentence` comments on another's words ("That must have been great!", "你真厉害！")."""
    plain = sentence.replace("’", "'")
    return _REACTION.match(plain) is not None and _FIRST_PERSON.search(plain) is None


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    mark = match.group()
    following = text[match.end() : match.end() + 1]
    if mark[0].isspace():
        # A single line break before a lower-case letter is a wrapped line.
        return mark.count("\n") > 1 or not (following.islower() and following.isascii())
    if not following or mark[0] in _WIDE_ENDS or "\n" in following:
        return True
    if is_cjk(following):
        return not text[match.start() - 1 : match.start()].isdigit()
    if not following.isspace():
        return False
    after = text[match.end() : match.end() + 8].lstrip()[:1]
    if after.islower():
        return False
    return mark[0] != "." or not _is_abbreviation(
        text[max(0, match.start() - _ABBREVIATION_WINDOW) : match.start()], after
    )


def _is_abbreviation(before: str, after: str) -> bool:
    word = before.rsplit(maxsplit=1)[-1].lstrip("(\"'“") if before.strip() else ""
    if word.lower() in _ABBREVIATIONS:
        return True
    if after.isdigit():
        return word.lower() in _NUMBER_ABBREVIATIONS
    return len(word) == 1 and word.isupper() and word.isascii() and word != "I"


def _pieces(raw: str) -> list[str]:
    sentence = _BULLET.sub("", raw.strip()).strip()
    if len(sentence) <= MAX_SENTENCE_CHARS:
        return [" ".join(sentence.split())] if sentence else []
    pieces: list[str] = []
    start = end = 0
    for match in _CLAUSE_END.finditer(sentence):
        if match.end() - start > MAX_SENTENCE_CHARS and end > start:
            pieces.append(_clip(sentence[start:end]))
            start = end
        end = match.end()
    if len(sentence) - start > MAX_SENTENCE_CHARS and end > start:
        pieces.append(_clip(sentence[start:end]))
        start = end
    pieces.append(_clip(sentence[start:]))
    return [piece for piece in pieces if piece]


def _clip(piece: str) -> str:
    piece = " ".join(piece.split())
    return piece if len(piece) <= MAX_SENTENCE_CHARS else piece[: MAX_SENTENCE_CHARS - 1] + "…"
