"""Reads what a sentence is about: its subject, people and names, and labels within a series.

It works on the surface of English and Chinese; the subject is the text before the first finite verb or predicate.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memory.text.analysis import cjk_share, terms
from memory.text.english_verbs import AUXILIARIES, SIMPLE_PAST, is_finite_verb

_WORD = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?")
_TOKEN = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?|\d[\d.,:]*|[\u4e00-\u9fff]|[$€£%#]")
_PRONOUNS = frozenset("i we he she it they you that there who what".split())
_CONTRACTED = frozenset("s m re ve ll d".split())
_CHINESE_PREDICATE = re.compile(
    r"是|在(?!线)|有(?!关)|叫|姓|要(?!求)|为|定[在到于]|到|用(?!户)|住|开(?!发)|放|投|每|对|改|换|变|搬|调|转|升|降|涨|推迟|提前|不|没"
    r"|会(?!议|员)|能|想|喜欢|爱|吃|喝|去|来|做|学|养|买|卖|交|付|租(?!房|金)|了|过|带|给|由|归|负责|写|讲|说(?!明)"
    r"|看|读|飞|跑|坐|唱|画|教(?!室|练|授|程)|打(?!印)|玩|听|送|挂|摆|装"
)
_DIGIT = re.compile(r"\d")
_POSSESSION = re.compile(
    r"(?:the |my |our )?(?P<holder>[^,;:]+?)['’]s (?P<attribute>[\w -]{2,30}?) (?:is|are|was|has|starts?|ends?|lasts?)\b",
    re.IGNORECASE,
)
_CHINESE_POSSESSION = re.compile(
    r"(?:我(?:将要|要)?(?:参加|去)的|我们?的?)?(?P<holder>[^，。]+?)(?:，[它他她])?的(?P<attribute>[^，。的]{1,8}?)(?:是|在|为|有|叫)"
)
_CHINESE_COPULAS = frozenset("是在叫姓为")
_COPULAS = frozenset("am is are was were be 'm 's 're".split())
_PEOPLE = frozenset(
    terms(
        "sister brother mother mom mum father dad wife husband partner girlfriend boyfriend fiance fiancee son daughter kid"
        " child baby cousin uncle parent couple guy aunt nephew niece grandma grandmother grandpa grandfather friend roommate"
        " flatmate neighbor neighbour colleague coworker boss manager teammate assistant landlord tenant dog cat puppy"
        " kitten horse twin"
    )
)
_CHINESE_PEOPLE = re.compile(
    r"岳[父母]|公公|婆婆|舅[妈母]?|婶|姑|姨|伯|[侄外]甥|侄|嫂|姐夫|妹夫|上司|下属|主管|导师|徒弟|师傅|妈|爸|母亲|父亲|爷爷|奶奶|外公|外婆|姥"
    r"|哥|姐|弟|妹|老公|老婆|妻子|丈夫|女儿|儿子|孩子|叔|阿姨|同事|老板|领导|朋友|闺蜜|室友|邻居|房东|男友|女友|同学|狗|猫|客户"
)
_OTHERS = re.compile(
    r"\b(?:most people|somebody|someone|everyone|the (?:couple|people|guy|woman|man|family|neighbou?rs?)"
    r" (?:upstairs|downstairs|next|across|at)|next door's)\b|隔壁|楼[上下]|别人|有人|人家|对门|很多人",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][\w'-]+")
_NO_NAMES = frozenset(
    "i i'm i've the a an my our we he she they it this that there so and but now since as in on at no yes just from after"
    " before next last new today yesterday".split()
)
# Words of a subject that don't distinguish it from others.
_LIGHT = frozenset(
    "i we my our me us mine ours he she they it his her their its the a an this that these those now also and but so then"
    " just still since from on in at after before next last new today yesterday you your there here".split()
) | frozenset("的了吗呢吧我们你咱")
_FIRST_PERSON = re.compile(r"\b(?:i|we|my|our|me|us|mine|ours|here)\b|我|咱|这[里边儿]", re.IGNORECASE)
_THIRD_PERSON = re.compile(r"\b(?:he|she)\b", re.IGNORECASE)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_LABELS = re.compile(
    rf"(?i:\b(?:{_MONTHS})\b)|第[一二三四五六七八九十\d]+|最后一|\b\d+(?:st|nd|rd|th)\b"
    r"|\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|last)\b"
    r"|(?i:\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b)|(?:周|星期)[一二三四五六日天]"
    r"|(?i:\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
    r"|(?<=[A-Za-z] )[A-Z](?![\w'’])|(?<![A-Za-z])[A-Z](?=[\u4e00-\u9fff])|\d[\d.]*|[一二三四五六七八九十百]+(?=[月号楼层章床])|上午|下午|中午|晚上|早上"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def is_chinese(sentence: str) -> bool:
    """Tell whether `sentence` begins in Chinese; an address or a name in Latin letters may follow."""
    return cjk_share(sentence[:12]) > 0.3


@lru_cache(maxsize=1024)
def find_subject(sentence: str) -> str:
    """Return the text before the predicate of `sentence`; "" if it begins with one or none is found."""
    if is_chinese(sentence):
        match = _CHINESE_PREDICATE.search(sentence) or _DIGIT.search(sentence)
        return sentence[: match.start()] if match else ""
    before = ""
    for match in _WORD.finditer(sentence):
        word = match.group().lower().replace("’", "'")
        head, _, tail = word.partition("'")
        if tail in _CONTRACTED and head in _PRONOUNS:
            return sentence[: match.start() + len(head)]
        # A verb that opens a note is in the past ("Moved to …"); otherwise the word is a noun ("Row A is …").
        opens = not before and word not in AUXILIARIES and word not in SIMPLE_PAST and not word.endswith("ed")
        if not opens and is_finite_verb(word, before):
            return sentence[: match.start()]
        before = word
    return ""


def find_possession(sentence: str) -> tuple[str, str] | None:
    """Return holder and attribute of a possessive sentence: ("ada", "birthday") for "Ada's birthday is …"; or None."""
    match = (_CHINESE_POSSESSION if is_chinese(sentence) else _POSSESSION).match(sentence)
    return (match["holder"].strip().lower(), match["attribute"].strip().lower()) if match else None


@lru_cache(maxsize=1024)
def find_verb(sentence: str) -> str:
    """Return the verb at the start of the predicate of `sentence` as an index term; "be" for a copula, "" for none."""
    rest = sentence[len(find_subject(sentence)) :]
    if is_chinese(sentence):
        match = _CHINESE_PREDICATE.match(rest)
        return "" if match is None else "be" if match.group() in _CHINESE_COPULAS else match.group()[0]
    match = _WORD.search(rest)
    if rest[:1] in "'’" and rest[1:2] in ("s", "m", "r"):
        return "be"
    word = match.group().lower() if match else ""
    return "be" if word in _COPULAS else next(iter(terms(word)), word)


def find_people(words: str) -> frozenset[str]:
    """Return the kin, pets and role nouns in `words`, English ones as index terms."""
    return (frozenset(terms(words.lower())) & _PEOPLE) | frozenset(_CHINESE_PEOPLE.findall(words))


def find_names(words: str) -> frozenset[str]:
    """Return the capitalised words in `words` that may be names, in lower case."""
    found = (match.group().lower() for match in _NAME.finditer(words))
    return frozenset(name for name in found if name not in _NO_NAMES)


def find_labels(words: str) -> frozenset[str]:
    """Return the numbers, ordinals, letters, months, weekdays and parts of the day in `words`, in lower case."""
    return frozenset(label.lower() for label in _LABELS.findall(words))


def find_years(words: str) -> frozenset[str]:
    """Return the years from 1900 to 2099 in `words`."""
    return frozenset(_YEAR.findall(words))


def names_others(sentence: str) -> bool:
    """Tell whether `sentence` speaks of unspecified people: "someone", "the couple upstairs", 隔壁."""
    return _OTHERS.search(sentence) is not None


def is_of_speaker(sentence: str) -> bool:
    """Tell whether `sentence` speaks of its speaker or of where they are: "I", "our", "here"."""
    return _FIRST_PERSON.search(sentence) is not None


def is_third_person(sentence: str) -> bool:
    """Tell whether the subject of `sentence` is a third person without a name: "he", "she", 他."""
    return _THIRD_PERSON.search(find_subject(sentence)) is not None or sentence.startswith(("他", "她"))


@lru_cache(maxsize=1024)
def tokens(sentence: str) -> tuple[str, ...]:
    """Return the words, numbers and Chinese characters of `sentence`, in lower case."""
    return tuple(match.group().lower() for match in _TOKEN.finditer(sentence))


def telling(words: tuple[str, ...]) -> list[str]:
    """Return the tokens that distinguish one subject from another: no pronouns, articles or adverbs of time."""
    return [word for word in words if word not in _LIGHT]


def content_terms(words: str) -> frozenset[str]:
    """Return the index terms of `words` without pronouns, articles and adverbs of time."""
    return frozenset(terms(words)) - _LIGHT
