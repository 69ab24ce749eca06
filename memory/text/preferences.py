"""What somebody likes, dislikes, cannot have or usually does, by what they say of themselves: rules, no model.

A preference stands in one clause whose subject is the speaker, who says it as so and in general: nothing that is only
asked, supposed, wished, quoted, told of others, joked about, over, or said of this once. What cannot be told apart is
left out, for the turn is there to be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory.enums import Attitude
from memory.text import preference_cues as cues
from memory.text.analysis import FUNCTION_CHARACTERS, is_cjk, terms
from memory.text.facts import Fact, check_fact
from memory.text.sentences import is_question
from memory.text.statements import Turn
from memory.text.utterances import live_statements

MAX_OBJECT_CHARS = 200
MAX_PER_TURN = 8
# Longer turns are documents that somebody pasted: what they say is seldom said of the speaker.
MAX_TURN_CHARS = 2_000
_MAX_CLAUSES = 12
_LEAST_CLAUSE_CHARS = 3
# So many characters behind "I" a supposition is about what the speaker does ("I might …", "I think I could …").
_BESIDE_SUBJECT = 12

# What makes of a turn a text to be worked on, or a part to be played: what stands in it nobody says of themselves.
_MATERIAL = re.compile(
    r"\b(?:translat\w*|rewrit\w*|rephras\w*|paraphras\w*|proofread\w*|grammar|spelling|punctuat\w*|summari[sz]e|role.?play(?! games?| elements?|ing games?|ing$|ing[.,])\w*"
    r"|pretend\w*|imagine|hypothetical\w*|act(?:ing)? as|you are an?|lyrics|poem|screenplay|monologue"
    r"|(?:my|a|the) (?:novel|story|character|script)|character (?:who|named|says|in)|persona|subject line|fill in"
    r"|write (?:me )?(?:an?|the|about)|draft (?:an?|the)|(?:this|following|sample|example) sentence|in the (?:film|movie|book|song|story|show|play))\b"
    r"|翻译|改写|润色|造句|例句|扮演|假装|角色|台词|歌词|剧本|作文|写一[篇封首段个]|写个|语法|这句话|这段话|小说里|电影里|书里|剧里",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|suppose|supposing|assuming|unless|let's say|were i|wish\w*|maybe|perhaps|possibly|probably|might|could|hope|hoping"
    r"|wonder\w*|dream\w*|whether|as though|as if|what if|say that|kidding|joking|joke|sarcas\w*|guess|suspect)\b"
    r"|如果|要是|假如|假设|万一|要不是|也许|可能|大概|或许|说不定|好像|似乎|但愿|希望|想象|梦|是否|开玩笑|逗你|骗你|才怪"
)
# These take back what stands before them as well.
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|probably|kidding|joking|joke|sarcas\w*|i guess|i suppose|in a dream)\b"
    r"|要不是|也许|大概|或许|说不定|开玩笑|逗你|骗你|才怪|梦"
)
_HEARSAY = re.compile(
    r"\b(?:says?|said|tells?|told|claims?|claimed|thinks?|thought|believes|assumes?|assumed|asks?|asked|wrote|writes"
    r"|heard|according to|insists? that|pretends?|used to|accus\w*|quot\w*|reads?:|signed|posted|commented|texted)\b"
    r"|他说|她说|他们说|她们说|人说|妈说|爸说|说过|听说|据说|告诉|问我|说我|以为|认为我|觉得我|传言|名言|常说|写道|写着"
)
_ONCE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|this (?:time|once|morning|evening|afternoon|week|weekend|month|year)|right now"
    r"|at the moment|for now|just now|last (?:night|week|month|year|time)|(?:a|two|three|few|some) (?:days?|weeks?|months?|years?) ago"
    r"|for once|later|not yet|anymore than|until (?:i|we|my|the|next)|while i'm)\b"
    r"|今天|今晚|今早|明天|昨天|昨晚|这次|这回|这周|本周|上次|上周|刚才|刚刚|暂时|待会|等会|一会|先不|眼下|这几天|去年"
)
_OVER = re.compile(
    r"\b(?:used to|previously|formerly|back then|back when|when i was|as a (?:kid|child|student|teenager)|in the past|in my (?:childhood|youth|twenties)"
    r"|once upon|at first|not any ?more|any ?more|any longer)\b"
    r"|以前|之前|曾经?|原来|原先|本来|小时候|过去|当时|那时候?|当年|从前|上(?:大学|高中|初中|小学|学)(?:的时候|时)|年轻时"
)
_NO_MORE = re.compile(r"\b(?:any ?more|any longer)\b")
_SOMETHING = re.compile(
    r"(?:it|this|that|these|those|them|him|her|you|us|me|one|ones|there|so|the (?:first|second|third|last|other|former"
    r"|latter|way|fact|one|new|option|(?:idea|sound|look|thought)(?! of (?!that|it|this)))|what|how|where|who|why|option \w|my|your|his|our|their|and|or|but|when i was)\b"
    r"|[这那它你您他她该此]|我的|我们|的(?:[人书歌]|是)|上一个|前者|后者|第[一二三]"
)
_OF_OTHERS = re.compile(r"\b(?:this|these|another|you|your|yours|he|she|his|hers|they)\b|[你您他她]")
_JEST = re.compile(
    r"\b(?:yeah,? right|as if|not!|just love (?:waiting|being|getting|when|how)|oh,? (?:great|wonderful|perfect)|jk|(?:just |only )?(?:kidding|joking))\b|\s/s\b|🙄|😏|才怪|开玩笑|逗你|骗你",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"[\"“”「」『』«»„]|(?<!\w)['‘](?=\w)(?=[^'’]*['’](?!\w))")
_SCOPE = re.compile(
    r"\b(?:when(?:ever)? (?:i(?:'m| am)? )?[a-z][a-z ]{2,40}|(?:for|at) (?:breakfast|lunch|dinner|work|home|school|night)"
    r"|(?:on|at|during) (?:(?:long|short) )?(?:week ?days|weekends?|flights?|holidays?|trips?|mondays|sundays|the weekend)"
    r"|in (?:the )?(?:mornings?|evenings?|afternoons?|summer|winter|public|restaurants|hotels|winters|summers)|before bed)\b"
    r"|(?:出差|旅行|旅游|在家|工作|上班|周末|晚上|早上|中午|夏天|冬天|在外面?|运动|睡前)(?:时候?|的时候)?"
)
# "When I travel, …": a clause that says when the next one applies.
_CONDITION = re.compile(r"when(?:ever)? i [^,]{2,40}$|(?:on|during|at|for) [^,]{3,30}$|[^，]{0,10}(?:时候?|的时候)$")
_REASON = re.compile(
    r",? (?:because|since|as|due to|owing to|so that|in order to|given)\b.*$|[，,]?(?:因为|由于|所以).*$", re.DOTALL
)
_AGAINST = re.compile(r" (?:over|rather than|instead of|more than|to) (?=[a-z])|(?:而不是|胜过|多过|，不要)")
_EDGES = " \t.!?,;:…-–—。！？，；：、~～)）(（"
_FILLING = frozenset(
    terms("very really much any some all a the kind kinds type types sort of thing things especially lot")
)


@dataclass(frozen=True, slots=True)
class StatedPreference:
    """One preference, as it was said: `text` is its clause, `object` what it is about, `scope` when it applies (empty:
    always). `strength`: 0..1. `wanted`: whether the holder wants the object or keeps away from it.

    `key`: the content terms of what it is about, by which two preferences are about the same; `topic`: of a favourite,
    what it is the favourite of, else empty.
    """

    attitude: Attitude
    text: str
    object: str
    scope: str
    strength: float
    wanted: bool
    key: frozenset[str]
    topic: str = ""


def read_preferences(text: str, retired: Sequence[tuple[int, int]] = ()) -> list[StatedPreference]:
    """The preferences that a turn states of its speaker, in order, without the statements at `retired`; most turns
    have none."""
    if len(text) > MAX_TURN_CHARS or _MATERIAL.search(text) or _JEST.search(text):
        return []
    found: list[StatedPreference] = []
    for statement in live_statements(text, retired):
        if statement.speaker or statement.by_agent or is_question(statement.text):
            continue
        found += _read_sentence(statement.text)
    return list({(one.attitude, one.key, one.scope): one for one in found}.values())[:MAX_PER_TURN]


def check_preference(raw: Mapping[str, Any], turns: Sequence[Turn]) -> tuple[int, StatedPreference] | None:
    """The preference that a language model read as `raw` (attitude, wanted, object, text, turn: a number from 1), with
    the place of its turn; None unless the turn says it, by the rules that facts are checked by."""
    text, about, place = raw.get("text"), raw.get("object"), raw.get("turn")
    if not isinstance(text, str) or not isinstance(about, str) or not isinstance(place, int):
        return None
    if (
        raw.get("attitude") not in Attitude.values
        or not 1 <= place <= len(turns)
        or not isinstance(raw.get("wanted"), bool)
    ):
        return None
    turn = turns[place - 1]
    holder = turn.speaker or turn.role
    spelt = {"holder": holder, "attribute": about.split()[0] if about.split() else "", "value": about, "text": text}
    checked = check_fact({**spelt, "time": None, "turns": [place]}, turns, first_new=0)
    if not isinstance(checked, Fact) or _ONCE.search(text.lower()) or _OVER.search(text.lower()):
        return None
    made = _make(Attitude(raw["attitude"]), text, about.lower(), cues.PLAIN, wanted=raw["wanted"])
    return None if made is None else (place - 1, made)


def _read_sentence(sentence: str) -> Iterator[StatedPreference]:
    plain = sentence.replace("’", "'")
    if _QUOTE.search(plain):
        return
    chinese = any(map(is_cjk, plain))
    lowered = plain.lower()
    breaks = cues.CHINESE_BREAK if chinese else cues.ENGLISH_BREAK
    start, heard = 0, False
    subject_told, condition = False, ""
    for number, (end, begins) in enumerate([*(one.span() for one in breaks.finditer(lowered)), (len(lowered),) * 2]):
        clause, words = lowered[start:end].strip(_EDGES), plain[start:end].strip(_EDGES)
        # What is supposed or told by others reaches to the end of its sentence.
        heard = heard or _is_heard(clause)
        if heard or number >= _MAX_CLAUSES:
            return
        start = begins
        one = _read_clause(clause, words, chinese=chinese, continues=subject_told)
        subject_told = subject_told or one is not None or clause.startswith(("i ", "i'm "))
        if one is not None and condition and not one.scope:
            one = replace(one, scope=condition.lower(), text=f"{condition}{'，' if chinese else ', '}{words}")
        if one is not None:
            yield one
        condition = words if one is None and _CONDITION.match(clause) else ""


def _is_heard(clause: str) -> bool:
    before = cues.ENGLISH_SUBJECT.search(clause)
    supposed = _SUPPOSED.search(clause)
    # What is supposed behind what is said narrows it: "I avoid restaurants if they are loud".
    if supposed and not (before and before.end() + _BESIDE_SUBJECT < supposed.start()):
        return True
    if _UNSURE.search(clause):
        return True
    return _HEARSAY.search(clause) is not None


def _read_clause(clause: str, words: str, *, chinese: bool, continues: bool) -> StatedPreference | None:
    """What one clause says; `continues`: an earlier clause of the sentence had the speaker as its subject."""
    if len(clause) < _LEAST_CLAUSE_CHARS or _ONCE.search(clause):
        return None
    over = _OVER.search(clause)
    no_more = _NO_MORE.search(clause)
    if over and not no_more:
        return None
    return (_read_chinese if chinese else _read_english)(
        clause, words, continues=continues, no_more=no_more is not None
    )


def _read_english(clause: str, words: str, *, continues: bool, no_more: bool) -> StatedPreference | None:
    opening = cues.ENGLISH_OPENING.match(clause)
    at = opening.end() if opening else 0
    favourite = cues.FAVOURITE.match(clause, at)
    if favourite:
        topic = favourite.group("topic")
        return _make(Attitude.LIKE, words, favourite.group("object"), cues.PLAIN, wanted=True, topic=topic)
    rest = clause[at:].replace("i'm ", "i am ", 1).replace("i'd ", "i would ", 1)
    subject = cues.ENGLISH_SUBJECT.match(rest)
    if subject is None and not continues:
        return None
    behind = rest[subject.end() :] if subject else re.sub(r"^(?:instead|rather|also) ", "", rest)
    if subject and subject.group("since"):
        behind = re.sub(r"^(really )?([a-z]+)", lambda verb: cues.PARTICIPLES.get(verb.group(2), ""), behind)
        behind = f"don't {behind}" if subject.group("since") == "never" else behind
    finds = cues.FINDS.match(behind) or cues.FINDS_DOING.match(behind)
    if finds and finds.group("how") in cues.FOUND_BAD | cues.FOUND_GOOD:
        wanted = finds.group("how") in cues.FOUND_GOOD
        attitude = Attitude.LIKE if wanted else Attitude.DISLIKE
        return _make(attitude, words, finds.group("object"), cues.PLAIN, wanted=wanted)
    return _match(cues.ENGLISH, behind, words, no_more=no_more)


def _read_chinese(clause: str, words: str, *, continues: bool, no_more: bool) -> StatedPreference | None:
    opening = cues.CHINESE_OPENING.match(clause)
    at = opening.end() if opening else 0
    favourite = cues.FAVOURITE_ZH.match(clause, at)
    if favourite:
        topic = favourite.group("topic")
        return _make(Attitude.LIKE, words, favourite.group("object"), cues.PLAIN, wanted=True, topic=topic)
    subject = cues.CHINESE_SUBJECT.match(clause, at)
    if subject is None and not continues:
        return None
    behind = clause[subject.end() if subject else at :]
    found = _match(cues.CHINESE, behind, words, no_more=no_more)
    if found is None and cues.REGULARLY_ZH.search(clause[: len(clause) - len(behind)]) and cues.ACTS_ZH.match(behind):
        return _make(Attitude.HABIT, words, behind, cues.MILD, wanted=True)
    return found


def _match(among: Sequence[cues.PreferenceCue], behind: str, words: str, *, no_more: bool) -> StatedPreference | None:
    for cue in among:
        match = cue.pattern.match(behind)
        if match is None:
            continue
        named = next((name for name, value in match.groupdict().items() if value), None)
        said = match.group(named) if named else behind[match.end() :]
        said = _NO_MORE.sub("", said)
        # "I don't avoid it any more": what is over, without what takes its place.
        if no_more and cue.wanted:
            return None
        strength = cue.strength
        if re.match(r"(?:usually|mostly|generally|tend to|try to|often)\b", behind):
            strength = min(strength, cues.MILD)
        return _make(cue.attitude, words, said, strength, wanted=cue.wanted, whole=named is not None)
    return None


def _make(
    attitude: Attitude, words: str, said: str, strength: float, *, wanted: bool, topic: str = "", whole: bool = False
) -> StatedPreference | None:
    """The preference, unless what it is about is nothing in general."""
    said = re.sub(r"^to (?=[a-z])|[ ,](?:and|but|so|or)$", "", said.strip(_EDGES)).strip(_EDGES)
    general = re.match(r"(?:it )?when(?:ever)? ", said)
    scope = None if general else _SCOPE.search(said) or (None if whole else _SCOPE.search(words.lower()))
    about = _REASON.sub("", said).strip(_EDGES)
    if scope and scope.group() in about and about != scope.group():
        about = about.replace(scope.group(), "").strip(_EDGES)
    if general:
        about = re.sub(r"^it ", "", about)
    elif not about or _SOMETHING.match(about) or _OF_OTHERS.search(about):
        return None
    key = _key(_AGAINST.split(about)[0]) if wanted else _key(about)
    if not key or len(about) > MAX_OBJECT_CHARS:
        return None
    return StatedPreference(
        attitude, words, about, scope.group() if scope else "", strength, wanted, key, topic.strip()
    )


def _key(about: str) -> frozenset[str]:
    return frozenset(term for term in terms(about) if term not in _FILLING and term not in FUNCTION_CHARACTERS)
