"""Makes questions that ask for a memory by its topic, to train models with and to test them.

A memory's topic is a noun phrase of its text: a thing with its article or owner, or a name. A text without one, or
whose phrase only makes sense in its conversation ("that", "his car"), has no question. The wording is Chinese for texts
that are mostly Chinese, else English. The result depends only on the text and its speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.text.analysis import STOP_WORDS, cjk_share
from memory.text.sentences import is_question, is_small_talk, split_sentences, strip_fillers

MAX_WORDS = 4
MAX_CHARS = 80
_MOSTLY = 0.5
# Matches words in brackets, which the gate puts in the place of secrets.
_BRACKETS = re.compile(r"\[[^\]]*\]")
_QUESTION_MARKS = ("?", "？")

_WORD = re.compile(r"[^\W_]+(?:[-'’./][^\W_]+)*|[^\w\s]")
_ARTICLES = frozenset({"the", "my", "our", "a", "an"})
# Words that end a noun phrase: conjunctions, words that are mostly verbs, and times.
_ENDS = STOP_WORDS | frozenset(
    """ago already although always anyway around away back began begin begins bought broke brought built came cannot
    caught chose close closes come cost costs drew either else end ends ever every everyone everything fell felt
    finally flew found gave get gets go goes got grew heard held hit instead keep keeps kept knew last lately
    later lay least leave leaves led left lent less let lets like lost made make makes many may meant met might
    mine much must need needs never new next nothing often one onto open opens paid per please put quite ran
    rather read really recently rode rose said sang sat say says sent shall show shows since slept sold someone
    something soon spent spoke start starts still stole stood swam take takes taught though thought threw till
    today together told tomorrow tonight took toward towards twice two understood upon us used want wants well
    went whether whose within without woke wore wrote yesterday yet""".split()
)
_TIMES = frozenset(
    """april august december february friday fridays good great hello hey hi january july june march may monday mondays
    nice no november october ok okay please saturday saturdays september sorry sunday sundays sure thank thanks
    thursday thursdays tuesday tuesdays wednesday wednesdays well yes""".split()
)
_PREPOSITIONS = frozenset("about at behind by during for from in into near of on over to toward towards with".split())
_AUXILIARIES = frozenset(
    "is are was were am has have had can could may might must shall should will would does did do".split()
)
# Heads that mean nothing without what follows them.
_VAGUE = frozenset(
    """afternoon beginning best bit case couple day days end evening fact few first idea kind left lot matter middle
    moment month morning night number one ones only others pair part point problem question reason rest right
    same second sort thing things time times type way ways week weekend whole worst year""".split()
)
# An inflected word after a noun is more often its verb than another noun.
_INFLECTED = re.compile(r"(?:[^\Wsui_]s|ed|ly|ing)$")

_CN_OWNER = r"(?:我们?|咱们?)的?"
_CN_PREDICATE = (
    r"(?:是|在|有|没有|将|可以|不能|必须|应该|需要|定在|定于|改到|改成|改为|改在|位于|住在|每[周天月年个次]|已经|最多|最少|最晚|最早"
    r"|放在|搬到|推迟|取消|换成|涨到|降到|包括|负责)"
)
_CN_KIN = (
    r"(?:爸|妈|爷|奶|外公|外婆|哥|姐|弟|妹|叔|舅|姑|姨|伯|老公|老婆|丈夫|妻子|儿子|女儿|男友|女友|同事"
    r"|朋友|老板|上司|下属|邻居|同学|老师)"
)
# Characters that make a verb of a supposed thing.
_CN_VERBAL = re.compile(
    "[跑完留做去来说看想吃喝给让把被先再到了过着得切改换搬问答找送开拿没可不能很太真更最也都就才还谁吗呢吧]"
)
_CN_SUBJECT = re.compile(rf"(?P<owner>{_CN_OWNER})?(?P<thing>[\u4e00-\u9fffA-Za-z0-9·]{{2,14}}?)(?={_CN_PREDICATE})")
_CN_OBJECT = re.compile(
    r"(?:我们?|咱们?)(?:[^，。；！？]{0,6}?)(?:喜欢|爱吃|爱喝|讨厌|决定[采选]?用|选择?了?|买了|养了"
    r"|租了|开了|订了|换了|报名参加|报了|在学|学了|加入了)"
    r"(?:一?[个只台套门辆家条张件份本]|[一两三]\w)?(?P<thing>[\u4e00-\u9fffA-Za-z0-9·]{2,8}?)"
    r"(?=[，。；！？]|而|来|因为|所以|了|的时候|$)"
)
_CN_ALLERGY = re.compile(r"我对(?P<thing>[\u4e00-\u9fff]{1,6})过敏")
_CN_NAMED = re.compile(r"[《「“](?P<thing>[^》」”]{2,16})[》」”]|(?P<name>[A-Za-z][A-Za-z0-9.+-]{2,20})")
# Words that start a sentence but aren't its subject: times, manners, pronouns, verbs.
_CN_NO_SUBJECT = re.compile(
    r"^(?:今[天年晚早]|明[天年]|昨[天晚]|前天|后天|上[周个]|下[周个]|这[个次里样些周]?|那[个次里样些]?|去年|以[前后]|最近"
    r"|现在|目前|每|如果|因为|所以"
    r"|但是?|不过|而且|然后|其实|可是|虽然|只要|只有|谁|什么"
    r"|怎么|哪|为什么|大家|他们?|她们?|它们?|你们?|您|自己|记得|请|别|不|没|好的?|谢谢|收到"
    r"|必须|先|需|唯一|特别|尤其|关键|问题|已|从|在|有|是|就|也|还|都|把|被|让|给|跟|和|对|向|按|我|咱|再|一|两|三|[0-9])"
)


def is_chinese(text: str) -> bool:
    """Tell whether most of the letters are Chinese, Japanese or Korean."""
    return cjk_share(text) >= _MOSTLY


def cue_of(text: str, speaker: str = "") -> str:
    """Return the topic of `text`, said by `speaker`, as a noun phrase; "" if it has none to ask for."""
    plain = _BRACKETS.sub(" ; ", text)
    find = _find_chinese if is_chinese(plain) else _find_english
    for sentence in split_sentences(plain):
        body = strip_fillers(sentence)
        if is_question(body) or is_small_talk(body):
            continue
        if cue := find(body, speaker):
            return cue
    return ""


def ask_for(cue: str, *, chinese: bool = False) -> str:
    """Return the question that a model is trained to answer."""
    return f"关于{cue}，你记得什么？" if chinese else f"What do you remember about {cue}?"


def ask_otherwise(cue: str, *, chinese: bool = False) -> str:
    """Return a paraphrase of the question, which training doesn't show."""
    return f"说到{cue}，你知道些什么？" if chinese else f"What can you tell me about {cue}?"


def repeat_otherwise(asked: str) -> str:
    """Return a person's question or request with other words around it."""
    if not asked.rstrip().endswith(_QUESTION_MARKS):
        return f"我再说一遍：{asked}" if is_chinese(asked) else f"Let me say it again: {asked}"
    return f"我想知道：{asked}" if is_chinese(asked) else f"I would like to know this: {asked}"


def report(text: str, speaker: str) -> str:
    """Return a statement as reported speech; without a speaker's name, as the reader's own ("You said")."""
    if is_chinese(text):
        return f"{speaker or '你'}说过：{text}"
    return f"{speaker or 'You'} said: {text}"


def _find_english(sentence: str, speaker: str) -> str:
    words = _WORD.findall(sentence.replace("’", "'"))
    found = sorted(_phrases(words), key=lambda phrase: phrase[0])
    if not found:
        return ""
    words = found[0][1]
    return _name_owner(words, speaker)[:MAX_CHARS]


def _name_owner(words: list[str], speaker: str) -> str:
    """Return the phrase in the third person: "my" becomes the speaker's name."""
    article = words[0].lower()
    if article == "my" and speaker:
        return " ".join([f"{speaker}'s", *words[1:]])
    if article == "our":
        return " ".join(["the", *words[1:]])
    return " ".join([article if article in _ARTICLES else words[0], *words[1:]])


def _phrases(words: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield noun phrases with their class, 0 being best: owned or known things, names, new things."""
    for place, word in enumerate(words):
        lower = word.lower()
        if lower in _ARTICLES:
            run = _run(words, place)
            new = lower in {"a", "an"}
            if len(run) > new and _is_telling(run):
                yield (2 if new else 0), [word, *run]
        elif word.endswith("'s") and word[0].isupper() and lower[:-2] not in _ENDS:
            run = _run(words, place)
            if run and _is_telling(run):
                yield 0, [word, *run]
        elif _is_name(words, place):
            name = [word]
            for following in words[place + 1 : place + MAX_WORDS]:
                if not (following[0].isupper() and following[0].isalpha()) or following.lower() in _TIMES | {"i"}:
                    break
                name.append(following)
            yield 1, name


def _is_telling(run: list[str]) -> bool:
    return any(word.lower() not in _VAGUE for word in run)


def _is_name(words: list[str], place: int) -> bool:
    word = words[place]
    if len(word) < 2 or not word[0].isupper() or "'" in word or word.lower() in _ENDS | _TIMES:
        return False
    # The first word of a sentence is always capitalised, and a name between commas is the addressee.
    return place > 0 and words[place - 1].lower() in _PREPOSITIONS


def _run(words: list[str], article: int) -> list[str]:
    """Return the words of a noun phrase after its article, up to a possible verb; [] if that is unclear."""
    run: list[str] = []
    # Verbs never follow a preposition.
    is_object = article > 0 and words[article - 1].lower() in _PREPOSITIONS
    for place, word in enumerate(words[article + 1 :], article + 1):
        lower = word.lower()
        if not word[0].isalnum() or lower in _ENDS or lower in _TIMES:
            break
        if len(run) == MAX_WORDS:
            return []
        if run and not is_object and _INFLECTED.search(lower):
            # A plural before its auxiliary is a noun. Otherwise a single word before it may not be a noun on its own.
            if words[place + 1 : place + 2] and words[place + 1].lower() in _AUXILIARIES:
                return [*run, word]
            return run if len(run) > 1 else []
        run.append(word)
    if not run or run[-1][0].isdigit() or (run[-1].lower().endswith(("ly", "er", "est")) and len(run) == 1):
        return []
    # A plural noun may be followed by its verb: "the customers pay".
    return run[:1] if run[0].islower() and run[0].endswith("s") and not is_object else run


def _find_chinese(sentence: str, speaker: str) -> str:
    subject = _CN_SUBJECT.match(sentence)
    if subject and _is_chinese_thing(subject["thing"]):
        owner = subject["owner"] or ""
        if not owner:
            return subject["thing"]
        if owner.endswith("的") or re.match(_CN_KIN, subject["thing"]):
            return f"{speaker}的{subject['thing']}" if speaker and "们" not in owner else owner + subject["thing"]
    for pattern in (_CN_ALLERGY, _CN_OBJECT):
        if (found := pattern.search(sentence)) and _is_chinese_thing(found["thing"]):
            return found["thing"]
    named = _CN_NAMED.search(sentence)
    return (named["thing"] or named["name"]) if named else ""


def _is_chinese_thing(words: str) -> bool:
    return not _CN_NO_SUBJECT.match(words) and not _CN_VERBAL.search(words)
