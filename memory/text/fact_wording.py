"""Checks that a turn states a fact in the same words, from the subject of a statement on.

Ana's "I live in Lisbon with my brother" supports "Ana lives in Lisbon". The two are compared word by word: "I" is the
speaker's name, "my" its genitive, and one verb may take the ending of the third person. Words of negation, plans or the
past count like any other, so a fact that drops or adds one differs. A fact may end before its statement does, unless
the following words reverse it. Questions, suppositions, quotations and jokes support nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory.enums import FactRefusal
from memory.text import preference_limits as limits
from memory.text.analysis import CJK, FUNCTION_CHARACTERS, is_cjk, terms
from memory.text.chinese_names import KINSHIP
from memory.text.cues import is_negated
from memory.text.event_dates import add_dates
from memory.text.salience import is_light
from memory.text.sentences import is_question, split_sentences
from memory.text.statements import Turn
from memory.text.utterances import statements

# The patterns match lower-case text in which "@" is the speaker (see `_plain`).
# Cues that apply to their whole sentence, like those of `limits.SUPPOSED`: it supposes, or reports what others say.
_SUPPOSED = re.compile(
    r"\b(?:in case|as long as|suppos\w+|assum\w+|hopefully|should|ought|would(?! like)|almost|nearly|someday|one day"
    r"|tempted|considering|thinking|let's|for (?:example|instance)|says?|said|tells?|told|asks?|asked|wrote|claim\w*"
    r"|thinks?|thought|believe[sd]?|doubt\w*|suspect\w*|guess\w*|reckons?|insists?|swears?|heard|according to|lies?"
    r"|apparently|rumou?rs?|allegedly|false|untrue|not true|in (?:@'s|this|his|her) (?:book|film|show|game|play))\b"
    r"|除非|一旦|只要|哪天|的话|等[^,]{0,8}[了后]|当[^,]{0,12}时|怀疑|猜|以为|认为|觉得|听说|据说|传言|(?<![会能])说(?!明)"
    r"|告诉|问(?!题)|差一?点|假装|比如|考虑|不确定|是不是|应该|假的"
)
_PLAN = re.compile(
    r"\b(?:plan\w*|intend\w*|going to|will|want\w* to|hop(?:e|es|ing) to|would like to|about to|scheduled|gonna|next"
    r"|due|upcoming|soon|tomorrow|aims? to|needs? to|ha(?:s|ve) to)\b|打算|计划|准备|想|希望|将|要|明[年天]|下个?[月周]"
)
_OVER = re.compile(
    rf"{limits.OVER.pattern}|\b(?:no longer|until|till|ago|(?:it|that) (?:was|is over)|sold|quit|stopped|cancell?ed"
    r"|ended)\b|不再|后来|停|退|取消|卖|戒|结束"
)
_DENIED = re.compile(
    r"\b(?:hardly|barely|scarcely|rarely|seldom|only|fail\w*|refus\w*|reject\w*|den(?:y|ies|ied|ying)|unable|avoid\w*"
    r"|lack\w*|far from|instead|rather|except|nobody|unlikely|impossible)\b|很少|几乎|拒绝|避免|除了|[只仅]"
)
# Speakers take back a turn with these, in the turn itself or in their next ones.
_TAKEN_BACK = re.compile(
    rf"{limits.JEST.pattern}|\b(?:i wish|no,? wait|wait,? no|scratch that|i was wrong|i lied|actually,? no|my mistake"
    r"|never ?mind|i meant|forget (?:that|it)|that was (?:last|years|back)|not really|correction)\b|不对|说错|更正|口误"
)
_NUMBER = re.compile(r"\d")
# Facts add such a date to a statement about "yesterday".
_DATED = re.compile(r"[,，]?\s*(?:\b(?:on|in|since|from|by) )?\(?(\d{4}-\d\d(?:-\d\d)?)\)?")
# A statement may open with its addressee and its time.
_OPENING = re.compile(
    r"^(?:(?-i:[A-Z])(?!\w*ly\b|never|seldom|once|someday|no\b|sometimes)\w+,\s+|(?:yesterday|today|tonight|by the way"
    r"|(?:last|this) \w+|(?:in|on) \w+|so|well|and|but|oh|hey|hi|yes|ok(?:ay)?)[,\s]+)+(?=(?:i|we|my|our)\b)",
    re.IGNORECASE,
)
_CONTRACTIONS = (
    (r"\bcan't\b|\bcannot\b", "can not"), (r"\bwon't\b", "will not"), (r"n't\b", " not"), (r"'ll\b", " will"),
    (r"'m\b", " am"), (r"'re\b", " are"), (r"'ve\b", " have"), (r"\ba few\b", ""),
    (r"\b(he|she|it|that|there|what|who|where)'s\b", r"\1 is"),
)  # fmt: skip
_I = ((r"\b(?:i|me|myself|we|us|ourselves)\b|我们?|咱们?", "@"), (r"\b(?:my|our|mine|ours)\b", "@'s"))
_YOU = ((r"\byou\b", "@"), (r"\byour\b", "@'s"))
_TOKEN = re.compile(
    rf"@(?:'s)?|[{CJK}]|\d+(?:[,.:/-]\d+)*|[^\W\d_{CJK}][^\W_{CJK}]*(?:[-/._'][^\W_{CJK}]+)*|(?P<mark>[,;:、()—–])"
)
# Starts another statement of the sentence; after a bare comma only with the speaker, or in Chinese.
_JOINT = re.compile(rf"(?:[,;]\s*|\s)(?:and|but|while|whereas)\s|;|,(?=\s*[{CJK}@])")
_PIECE_END = re.compile(r"[,;:、()—–]|\b(?:and|but|while|whereas)\b")
# These verbs take no statement as an object, so that "I" is also the subject of what follows "I live … and".
_VERBS = "live|work|own|play|speak|study|drive|teach|drink|eat|run|moved|lived|worked|studied|am (?:an?|from|in|at)"
_OWN_VERB = re.compile(rf"@ (?:{_VERBS})\b(?!.*\b(?:wh\w+|how|because|as)\b)|@[住是对在叫姓会吃喝]")
_SHARES = re.compile(rf"(?:{_VERBS}|have|like|love|prefer|\w+ed)\b|[{CJK}]")
_NEUTRAL = frozenset(
    "a an the do does also just really actually now currently still already some so well oh 的 了 也 就 都".split()
)
_THIRD_PERSON = {"am": "is", "are": "is", "have": "has", "were": "was"}
_PRONOUNS = frozenset("he she they him her them his hers theirs their himself herself themselves 他 她".split())
# A fact may end before these words of its statement.
_MAY_FOLLOW = frozenset(
    "in at on for with from since by to near every each this last today yesterday and but or because who which where"
    " when while named called about after before during".split()
)
_ASKED = re.compile(
    r"(?:what|where|who|when|how \w+|which \w+) (?:(?P<be>is|are) (?P<of>.+?)|do(?:es)? (?P<do>.+?))"
    r"(?: these days| nowadays| at the moment| right now)?\?"
)
_KIN = "|".join(sorted((word for words in KINSHIP.values() for word in words), key=len, reverse=True))
_NUMBER_WORDS = {
    word: str(value) for value, word in enumerate("one two three four five six seven eight nine".split(), 1)
}


class Wording(NamedTuple):
    """The parts of a fact that its turns must state."""

    holder: str
    value: str
    text: str


def find_refusal(
    fact: Wording, turns: Sequence[Turn], places: Sequence[int], asked: Sequence[Turn]
) -> FactRefusal | None:
    """Return why no statement of the turns at `places` states the fact, or None if one does.

    The statement may answer a turn in `asked`.
    """
    found = FactRefusal.UNSUPPORTED
    for place in places:
        turn = turns[place]
        question = turns[place - 1] if place and turns[place - 1] in asked else None
        own = [turn, *(later for later in turns[place + 1 : place + 3] if later.speaker == turn.speaker)]
        taken_back = any(_TAKEN_BACK.search(one.text.replace("’", "'").lower()) for one in own)
        played = limits.MATERIAL.search(turn.text) is not None
        marks = [match.start() for match in limits.QUOTE.finditer(turn.text)]
        for number, one in enumerate(statements(turn.text, speaker=turn.speaker)):
            if not set(terms(fact.value)) & set(terms(_with_dates(turn, one.text))):
                continue
            quoted = marks and one.end > marks[0] and (len(marks) == 1 or one.start < marks[-1])
            if taken_back or played or quoted or one.text.startswith(">") or one.speaker != turn.speaker:
                found = FactRefusal.SUPPOSED
                continue
            frame = _frame_answer(question, turn) if question and not number else ""
            refusal = _refuse(fact, one.text, turn, frame)
            if refusal is None:
                return None
            found = refusal
    return found


def _refuse(fact: Wording, statement: str, turn: Turn, frame: str) -> FactRefusal | None:
    """Return why the statement doesn't state the fact, alone or with the `frame` of the question that it answers."""
    plain, bare = _plain(statement, turn), _plain(_OPENING.sub("", statement), turn)
    if is_question(statement):
        return FactRefusal.QUESTION
    if _SUPPOSED.search(plain) or limits.SUPPOSED.search(plain):
        return FactRefusal.SUPPOSED
    added = [date for date in _DATED.findall(fact.text) if date not in turn.text]
    if any(date not in _with_dates(turn, statement) for date in added):
        return FactRefusal.UNSUPPORTED
    text, holder = (_plain(words, turn, named=True) for words in (fact.text, fact.holder))
    said = [word for word, *_ in _words(_DATED.sub("", text) if added else text)]
    named = {word for word, *_ in _words(holder)}
    if not {term for term in terms(fact.value) if not _NUMBER.search(term)} <= set(terms(fact.text)):
        return FactRefusal.UNSUPPORTED
    if not named <= {*said, *(word.removesuffix("'s") for word in said)} or (said[:1] == ["@"] and "@" not in named):
        return FactRefusal.HOLDER
    told = [plain, bare, *_list_later(bare), *([f"{frame} {bare}"] if frame else ())]
    # The subject of "My cousin Ida rents a flat" is Ida.
    whose = re.compile(rf"(?:[@\w]+'s \w+ |@的?(?:{_KIN}))(?={re.escape(holder)}(?![^\W{CJK}]|'))")
    results = {_compare(words, said) for words in (*told, *(whose.sub("", words, count=1) for words in told))}
    return None if None in results else next(iter(results - {FactRefusal.UNSUPPORTED}), _name_difference(plain, text))


def _list_later(told: str) -> Iterator[str]:
    """Yield the later statements of a sentence, with "@" where they leave out the "I" that the sentence begins with."""
    for joint in _JOINT.finditer(told):
        before, rest = told[: joint.start()], told[joint.end() :].lstrip()
        denied = _denies(before)
        if " that " in before or _PLAN.search(before) or (denied and joint.group()[0] not in ",;"):
            continue
        if joint.group() != "," or is_cjk(rest[:1] or " ") or told.startswith("@ "):
            yield rest
        if _OWN_VERB.match(before) and _SHARES.match(rest) and not denied and not _PIECE_END.search(before):
            yield f"@ {rest}"


def _compare(told: str, said: Sequence[str]) -> FactRefusal | None:
    """Return why `told` doesn't begin with the words of the fact or reverses them later; None if it states it."""
    words = _words(told)
    if not said or len(words) < len(said):
        return FactRefusal.UNSUPPORTED
    own, inflected = said[0] == "@", False
    for (has, *_), wants in zip(words, said, strict=False):
        if has != wants and not (own and has[0] == "@" and wants in _PRONOUNS):
            third = (_THIRD_PERSON.get(has), f"{has}s", f"{has}es", re.sub(r"(?<=[^aeiou])y$", "ies", has))
            if inflected or not own or wants not in third:
                return FactRefusal.UNSUPPORTED
            inflected = True
    _, end, _ = words[len(said) - 1]
    for word, _, marked in words[len(said) : len(said) + 1]:
        if not marked and word not in _MAY_FOLLOW:
            return FactRefusal.UNSUPPORTED
    behind, following = [*_PIECE_END.split(told[end:]), ""][:2]
    if len(_words(following)) < 3:
        # Too short to be a separate statement: ", not really".
        behind = f"{behind} {following}"
    if _OVER.search(told[end:]):
        return FactRefusal.PAST
    return FactRefusal.NEGATION if _denies(behind) else FactRefusal.PLANNED if _PLAN.search(behind) else None


def _name_difference(plain: str, text: str) -> FactRefusal:
    """Return how a fact differs from a statement that contains its value."""
    if _denies(plain) != _denies(text):
        return FactRefusal.NEGATION
    for cue, refusal in ((_PLAN, FactRefusal.PLANNED), (_OVER, FactRefusal.PAST)):
        if cue.search(plain) and not cue.search(text):
            return refusal
    subjects = {word for words in (plain, text) for word, *_ in _words(words)[:1]}
    return FactRefusal.HOLDER if len(subjects) > 1 else FactRefusal.UNSUPPORTED


def _denies(text: str) -> bool:
    return is_negated(f" {text} ") or _DENIED.search(text) is not None


def _frame_answer(question: Turn, turn: Turn) -> str:
    """Return what "Where do you work?" puts before its answer ("@ work"), or "" if the question is less plain."""
    asked = _plain(split_sentences(question.text)[-1], turn, named=True, own=_YOU)
    match = _ASKED.fullmatch(asked)
    if match is None or _SUPPOSED.search(asked) or question.speaker == turn.speaker:
        return ""
    return match["do"] or f"{match['of']} {match['be']}"


def _plain(text: str, turn: Turn, *, named: bool = False, own: Sequence[tuple[str, str]] = _I) -> str:
    """Return `text` in lower case, without contractions and with "@" for the turn's speaker.

    "@" replaces the speaker's name and the words in `own`; if `named`, also each part of the name and the role.
    """
    text = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    speaker = turn.speaker.lower()
    names = filter(None, [speaker, *([*speaker.split(), turn.role] if named else ())])
    if listed := "|".join(map(re.escape, names)):
        text = re.sub(rf"(?<![^\W{CJK}])(?:{listed})(?![^\W{CJK}])", "@", text)
    for short, long in (*_CONTRACTIONS, *own):
        text = re.sub(short, long, text)
    return text


def _words(text: str) -> list[tuple[str, int, bool]]:
    """Return the significant words of a plain text, each with its end and whether a comma or the like precedes it."""
    found, marked = [], False
    for match in _TOKEN.finditer(text):
        word = match.group().replace(",", "")
        if word not in _NEUTRAL and not match["mark"]:
            found.append((_NUMBER_WORDS.get(word, word), match.end(), marked))
        marked = match["mark"] is not None or (marked and word in _NEUTRAL)
    return found


def find_own_words(text: str, sources: Sequence[Turn]) -> set[str]:
    """Return the content terms of `text` that are in none of the turns; `grounding` checks numbers and dates."""
    told = {term for turn in sources for term in terms(_with_dates(turn, turn.text))}
    told |= {term for turn in sources for term in terms(turn.speaker or turn.role)}
    own = {term for term in terms(text) if term not in told and not is_light(term) and not _NUMBER.search(term)}
    # Chinese pairs are new wherever two words meet, so only single characters count.
    return {term for term in own - FUNCTION_CHARACTERS if len(term) == 1 or not is_cjk(term[0])}


def _with_dates(turn: Turn, text: str) -> str:
    return add_dates(text, turn.occurred_at) if turn.occurred_at else text


def agree(one: str, other: str) -> bool:
    """Tell whether two facts with the same holder, attribute and value say the same.

    One must contain all words of the other, and they must agree in negation, plans and the past.
    """
    one, other = one.lower(), other.lower()
    if _denies(one) != _denies(other) or any(
        bool(cue.search(one)) != bool(cue.search(other)) for cue in (_PLAN, _OVER)
    ):
        return False
    first, second = ({word for word, *_ in _words(text)} for text in (one, other))
    return first <= second or second <= first
