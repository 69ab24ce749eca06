"""Splits a sentence into its clauses, and tells what can be cut out so that the rest still reads and keeps its meaning.

Coordination is read from the surface: a comma, a semicolon, a dash or a conjunction begins a clause when a finite verb
follows (English, by the closed list of `english_verbs`) or a predicate does (Chinese, by the lists below). What follows
with a subject of its own is a clause of its own; what follows without one shares the subject before it. Anything else
(items of a list, adjuncts) stays with its clause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memory.text.analysis import CJK
from memory.text.english_verbs import AUXILIARIES, FINITE, is_finite_verb, is_gerund

_JOINT = re.compile(
    r"[ ]?;[ ]?(?:(?:and|but|so|also|however|meanwhile|then|plus)\b,?[ ]?){0,2}"
    r"|[ ]?,[ ](?:(?:and|but|so|or|yet|while|whereas|though|although|plus|then|because|since|which|who|whose|where)\b"
    r"[ ](?:also[ ]|then[ ])?)?"
    r"|:[ ](?!\d)|[ ][-–—]{1,3}[ ](?:(?:and|but|so)\b[ ])?|[—–]{1,2}"
    r"|[ ](?:and|but|while|whereas|though|although|so|because|which|who)[ ](?:also[ ]|then[ ])?"
    r"|[，；：][ ]?(?:而且|并且|但是|不过|可是|但|所以|因此|同时|另外|此外|然后|因为)?[，]?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z]*(?:['’][A-Za-z]+)?|\d[\w.:,%-]*|[^\W\d_]+")
_ADVERBS = frozenset(
    "also now then still usually always never currently recently just actually often sometimes even only really mostly"
    " rarely lately already probably definitely normally generally finally both all again".split()
)
_PRONOUNS = frozenset("i we you he she they it there".split())
_BACK = re.compile(
    r"\b(?:he|she|it|they|him|her|his|hers|its|their|theirs|them|it's|he's|she's|they're|they've|both|the same|ones?"
    r"|the other)\b|^(?:this|that|these|those|such|which|who|whose|where)\b|\bthere\b(?!'s| (?:is|are|was|were))"
    r"|[它他她]|那[里边儿个]|这[里边儿个]",
    re.IGNORECASE,
)
_DEPENDENT = re.compile(r"(?:which|who|whose|where|because|since|因为)[ ，]?$", re.IGNORECASE)
_RELATIVE = re.compile(r"(?:which|who|whose|where)[ ]", re.IGNORECASE)
_CONTRACTED = re.compile(r"^(?:i|we|you|he|she|it|they|that|there)(?=['’])", re.IGNORECASE)
# Words that a verb which could be a noun as well is followed by when it is one.
_AFTER_VERB = frozenset(
    "a an the my your his her its our their this that these those at in on to for with from by about as up out off"
    " into every each all some any no two three four five six seven eight nine ten it them him me us you there here"
    " not around near over".split()
)

# Chinese: what a predicate begins with when no subject stands before it, and how far a subject may reach.
_ZH_TIME = (
    r"(?:上个?月|上周[一二三四五六日天]?|下个?月|下周[一二三四五六日天]?|昨[天晚]|前天|今[早晚]|最后|终于|刚刚|以后|今后|从[^，。]{1,4}(?:起|开始)|现在|目前|如今|最近|平时|每[天周月年晚早]|每个?(?:周|星期|月)[一二三四五六日天末]?|周[一二三四五六日天末]|星期[一二三四五六日天]"
    r"|早上|晚上|下午|上午|中午|今年|今天|明天|一直|一般|通常|经常|常常?|偶尔|已经|正在|还|也|都|又|就|刚|才|只|很|从小|以前)"
)
# Words that hold such a character and are none.
_ZH_NO_PREDICATE = (
    r"小学|中学|大学|同学|用户|用品|使用说明|开发|开关|开源|学校|学生|学期|打印|看法|做法|来源|会议|会员|要求|去年|能力|能源|有关|在线|负责人"
    r"|当地|当时|喝彩|住址|住处|地址|工作日|工作室|叫号|高中|高铁|带宽|离婚证|停车场|读者|写作|教室|教练|教授|买家|卖家|坐标|骑手|读书会|周会|例会|晨会|早会|晚会|年会|班会|家长会|聚会|约会|运动会|生日会|音乐会|演唱会|发布会|座谈会|社会|机会|董事会|房租|出租|租金|租房|跑步机|定金|改签|到期"
)
_ZH_VERB = (
    r"(?:对[^，。；！？]{1,10}(?:过敏|感兴趣|负责)|是|住|在(?!线)|有(?!关)|喜欢|最?爱|不|没|会(?!议|员|[定改在的是每下周明今])|能(?!力|源)|想|要(?!求)|用(?!户|品)|开(?!发|关|源)"
    r"|吃|喝(?!彩)|养|做(?!法)|当(?!地|时)|学(?!校|生|期)|练|打(?!印)|看(?!法)|买|卖|来(?!源)|去(?!年)|坐|骑|跑|写|读|教|上(?:学|班|课|小学|初中|高中|大学|幼儿园)|工作|负责|需要|打算|计划|准备|讨厌"
    r"|叫|姓|属|重|高|改|换|搬|调整?|[涨降升]|变|定|花|带|跟|和|给|把|被|从|离|到|为|找|参加|每天|得|戴|穿|睡|起床|开始|结束|停|放|订|租|读|考|当上|升|毕业|结婚|离婚|辞职|离职|退休|怀孕|生了|分手|退了|取消|卖|涨|降|[\d一二三四五六七八九十百千万两]+(?:多|来)?(?:元|块|岁|点|号|斤|米|公斤|分钟|小时|%))"
)
_ZH_BEGINS = re.compile(rf"{_ZH_TIME}*(?!{_ZH_NO_PREDICATE}){_ZH_VERB}")
_ZH_PREDICATE = re.compile(rf"{_ZH_TIME}|{_ZH_NO_PREDICATE}|(?P<verb>{_ZH_VERB})")
_ZH_ADVERBS_AT_END = re.compile(rf"(?:{_ZH_TIME}|[\d一二三四五六七八九十两半:：]+[点分号日月]半?)+$")
_ZH_RELATIONAL = re.compile(
    r"地点|时间|日期|价格|费用|负责人|联系人|密码|端口|电话|地址|名字|人(?!家)|家里|家人|孩子|儿子|女儿|老婆|老公|妻子|丈夫|爱人|爸爸?|妈妈?|父母|哥哥?|姐姐?|弟弟?|妹妹?|宠物|脾气|性格|个子|身高|体重|工资|押金|水电|早餐|作业|老师|教练|主题"
)
_ZH_CHAR = re.compile(rf"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Clause:
    """Words at [start, end) of a sentence; what joins them to the clause before begins at `joint` (= start without).

    `subject`: [first, last) of the subject in the sentence, which may stand in an earlier clause (`shares_subject`);
    None when none was recognised. `predicate`: where its predicate begins. `dependent`: it means little by itself
    (a relative clause, a reason). `refers`: a pronoun in it points back at something.
    """

    text: str
    start: int
    end: int
    joint: int
    predicate: int
    subject: tuple[int, int] | None = None
    shares_subject: bool = False
    dependent: bool = False
    refers: bool = False


def clauses(sentence: str) -> tuple[Clause, ...]:
    """The clauses of `sentence` (one line, of bounded length) in order; at least one for any text."""
    return _clauses(sentence)


@lru_cache(maxsize=256)
def _clauses(sentence: str) -> tuple[Clause, ...]:
    joints = list(_JOINT.finditer(sentence))
    found: list[Clause] = []
    start = joint = 0
    dependent = False
    for number in range(len(joints) + 1):
        at = joints[number] if number < len(joints) else None
        if at is not None:
            following = joints[number + 1].start() if number + 1 < len(joints) else len(sentence)
            if not _begins_clause(sentence, at, following, first=sentence[start : at.start()]):
                continue
        end = at.start() if at is not None else len(sentence)
        before = next((one for one in reversed(found) if not _is_relative(one)), None)
        found.append(_clause(sentence, start, end, joint=joint, dependent=dependent, before=before))
        if at is not None:
            joint, start = at.start(), at.end()
            dependent = _DEPENDENT.search(at.group()) is not None
            if relative := _RELATIVE.search(at.group()):
                # "who lives in Rome": the pronoun belongs to the clause.
                start = at.start() + relative.start()
    return tuple(found)


def cut(sentence: str, number: int, *, followed_by_reference: bool = False) -> tuple[int, int] | None:
    """What of `sentence` must go, [first, last), so that its clause `number` is gone and the rest keeps its meaning.

    None when that cannot be done safely: what stays would point at what is gone, or would not say who. The whole
    sentence is (0, len). `followed_by_reference`: the next sentence begins with a pronoun.
    """
    parts = clauses(sentence)
    clause = parts[number]
    if len(parts) == 1:
        return None if followed_by_reference else (0, len(sentence))
    following = parts[number + 1] if number + 1 < len(parts) else None
    if following is None:
        return None if followed_by_reference and not clause.shares_subject else (clause.joint, _words_end(sentence))
    if following.dependent or (clause.dependent and not clause.shares_subject):
        if _is_relative(clause) and not following.dependent:
            # Between commas it may go as a whole.
            return clause.joint, following.start - 1
        return None
    if following.shares_subject and following.subject is not None:
        first, last = following.subject
        if first < clause.start:
            # Both share the subject of an earlier clause.
            return clause.joint, following.joint
        if _has_value(sentence[clause.start : first]):
            return None
        return last, _after_subject(sentence, last, following.start)
    if following.shares_subject or following.refers or any(part.refers for part in parts[number + 1 :]):
        return None
    if _ZH_RELATIONAL.match(sentence[following.start : following.end]):
        # "周会定在周一，地点是…": whose it is stands in the clause before.
        return (clause.subject[1], following.start) if clause.subject is not None else None
    return (0, following.start) if number == 0 else (clause.joint, following.joint)


def _is_relative(clause: Clause) -> bool:
    return clause.dependent and _RELATIVE.match(clause.text) is not None


def _words_end(sentence: str) -> int:
    """Where the sentence ends without its closing mark, which the rest keeps."""
    return len(sentence.rstrip(" .!?。！？…;；")) or len(sentence)


def _after_subject(sentence: str, last: int, start: int) -> int:
    """The place from which on words stay behind a subject that ends at `last`: one space stays between them."""
    return start - 1 if start - 1 > last and sentence[start - 1 : start] == " " else start


def _has_value(words: str) -> bool:
    return any(character.isdigit() for character in words)


def _begins_clause(sentence: str, at: re.Match[str], end: int, *, first: str) -> bool:
    """Whether a clause begins behind the joint `at`; `first`: the words of the clause before."""
    after = sentence[at.end() : end]
    if not after.strip() or not first.strip():
        return False
    if _ZH_CHAR.search(after):
        return _zh_begins_clause(after, first)
    if _DEPENDENT.search(at.group()):
        return _verb_at(after) is not None
    words = [match.group().lower().replace("’", "'") for match in _WORD.finditer(after)]
    while words and words[0] in _ADVERBS:
        words = words[1:]
    if not words:
        return False
    if "'" in words[0] and words[0].split("'")[0] in _PRONOUNS:
        return _verb_at(first) is not None
    if _verb_at(first) is None:
        return False
    if _is_predicate(words):
        return True
    return any(
        is_finite_verb(word, words[place - 1])
        and (words[place - 1] in _PRONOUNS or word in AUXILIARIES or _is_inflected(word) or _governs(words, place))
        for place, word in enumerate(words[1:9], start=1)
    ) and not _of_preposition(words)


def _of_preposition(words: list[str]) -> bool:
    """Whether these words begin with a preposition and no subject pronoun follows: an adjunct."""
    prepositions = {"in", "on", "at", "by", "for", "with", "from", "to", "near", "about", "of", "like", "including"}
    return words[0] in prepositions and not _PRONOUNS.intersection(words[:6])


def _is_predicate(words: list[str]) -> bool:
    word = words[0]
    if word in AUXILIARIES:
        return not ("'" in word and word.split("'")[0] in _PRONOUNS)
    return word in FINITE and not is_gerund(word) and (_is_inflected(word) or _governs(words, 0))


def _is_inflected(word: str) -> bool:
    return word not in FINITE or word.endswith(("ed", "es")) or (word.endswith("s") and not word.endswith("ss"))


def _governs(words: list[str], place: int) -> bool:
    """Whether something follows that a verb governs, so that the word is no noun."""
    following = words[place + 1 : place + 2]
    return bool(following) and (following[0] in _AFTER_VERB or following[0] not in FINITE)


def _zh_begins_clause(after: str, first: str) -> bool:
    return len(after.strip()) > 1 and _zh_verb_at(after) is not None and _zh_verb_at(first) is not None


def _zh_verb_at(words: str) -> int | None:
    found = list(_ZH_PREDICATE.finditer(words))
    verb = next((match.start() for match in found if match.group("verb")), None)
    # "游泳课每周三上": a time may be all that is said of a subject.
    return verb if verb is not None else next((match.start() for match in found if match.start()), None)


def _verb_at(words: str) -> int | None:
    """Where the first finite verb of `words` begins, in characters; None without one."""
    before = ""
    for match in _WORD.finditer(words):
        word = match.group().lower().replace("’", "'")
        if contracted := _CONTRACTED.match(word):
            return match.start() + contracted.end()
        if is_finite_verb(word, before):
            return match.start()
        before = word
    return None


def _clause(sentence: str, start: int, end: int, *, joint: int, dependent: bool, before: Clause | None) -> Clause:
    words = sentence[start:end]
    subject, predicate = _zh_subject(words) if _ZH_CHAR.search(words) else _subject(words)
    refers = _BACK.search(words) is not None
    if subject is not None or before is None:
        own = None if subject is None else (start + subject[0], start + subject[1])
        return Clause(words, start, end, joint, start + predicate, own, dependent=dependent, refers=refers)
    return Clause(
        words, start, end, joint, start + predicate, before.subject, shares_subject=True, dependent=dependent,
        refers=refers,
    )  # fmt: skip


def _subject(words: str) -> tuple[tuple[int, int] | None, int]:
    """[first, last) of the subject in `words`, and where the predicate begins."""
    verb = _verb_at(words)
    if verb is None:
        return (0, len(words)), 0
    before = list(_WORD.finditer(words[:verb]))
    while before and before[-1].group().lower() in _ADVERBS:
        before.pop()
    if not before:
        return None, verb
    return (0, before[-1].end()), verb


def _zh_subject(words: str) -> tuple[tuple[int, int] | None, int]:
    if _ZH_BEGINS.match(words):
        return None, 0
    until = _zh_verb_at(words)
    if until is None:
        return (0, len(words)), 0
    adverbs = _ZH_ADVERBS_AT_END.search(words[:until])
    return (0, adverbs.start() if adverbs else until), until
