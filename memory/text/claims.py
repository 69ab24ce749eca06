"""What a clause claims: of whom or what (holder and topic), which value, and whether it is said to be so now.

A claim is compared with an earlier one by `governance.conflicts`; here it is only read. Rules are closed lists of cues
for mood, time and change, English and Chinese, that are looked for in lower case (which takes Python's `re` a fifth of
the time that IGNORECASE takes); values are found by their form (`values`) or as what follows the verb.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memory.text.analysis import FUNCTION_CHARACTERS, is_cjk, terms, to_lower_case
from memory.text.clauses import Clause, clauses
from memory.text.english_verbs import FINITE, SIMPLE_PAST
from memory.text.sentences import is_question
from memory.text.values import Value, values


class _Cues:
    """Words that say something of a clause, English and Chinese, as patterns for text in lower case.

    Apart they are found in a third of the time, and most English clauses have no character of the others.
    """

    def __init__(self, english: str, chinese: str) -> None:
        self._english, self._chinese = re.compile(english), re.compile(chinese)
        self._both = re.compile(f"{english}|{chinese}")

    def are_in(self, lower: str) -> bool:
        return self._english.search(lower) is not None or (
            not lower.isascii() and self._chinese.search(lower) is not None
        )

    def cut_out(self, words: str) -> str:
        """The words without them."""
        kept, start = [], 0
        for match in self._both.finditer(to_lower_case(words)):
            kept.append(words[start : match.start()])
            start = match.end()
        return "".join((*kept, words[start:]))


# Moods in which nothing is said to be so. Each holds from where it stands to the end of its sentence.
_NOT_SAID = _Cues(
    r"\b(?:if|unless|in case|suppose|supposing|assuming|whether|imagine|as long as)\b"
    r"|\b(?:might|could|should|ought|maybe|perhaps|probably|possibly|would|wish\w*|hop(?:e|es|ing)|dream\w*|wonder\w*)\b"
    r"|\bwant(?:s|ed)? to\b|\b(?:plan(?:s|ning|ned)?|intend\w*|think(?:ing)?|consider(?:ing)?|tempted|try(?:ing)?|keen) (?:to|of|about|on|at|into|for)\b"
    r"|\b(?:considering|thinking|debating|weighing up)\b|\b(?:going|about|supposed|meant|like|love|need|needs|have|has|scheduled|due) to (?=[a-z])(?!be\b)"
    r"|\b(?:'ll|will)\b(?! (?:now )?be\b)|\bgonna\b|\bnext (?:year|spring|summer|autumn|fall|winter|month)\b|\b(?:someday|one day|eventually|in the future|proposed?|suggest\w*|propos\w+)\b"
    r"|\b(?:almost|nearly|joked?|joking|kidding|pretend\w*|fake|example|e\.g)\b",
    r"如果|要是|假如|哪天|的话|万一|除非|是否|可能|也许|大概|或许|希望|但愿|想要?(?!起|到|法)|打算|计划(?![书表])|准备(?!好)|考虑|梦想|将来|以后(?:想|要|会|再|可能|打算)|明年|建议|应该|差点|开玩笑|比如",
)
# Not the month.
_MAY = re.compile(r"\b(?<![Ii]n )(?<!\d )(?<![Oo]f )may\b(?! \d)")
# What somebody else says, thinks or asks; what the speaker said before is no hearsay.
_HEARSAY = _Cues(
    r"(?<!\bi )(?<!\bi've )(?<!\bwe )\b(?:says?|said|tells?|told|claim(?:s|ed)|thinks|thought|believe[sd]?|reckons?|insists?|swears?|assumes?|asks?|asked|wrote|suspects?|guess(?:es)?)\b"
    r"|\b(?:according to|apparently|rumou?rs?|supposedly|allegedly|i (?:heard|read|dreamt|dreamed))\b"
    r"|\b(?:in (?:my|the|this|a|his|her) (?:novel|story|book|film|movie|show|game|dream|play|series|podcast)|the (?:narrator|protagonist|hero(?:ine)?|main character))\b",
    r"小说里|书里|电影里|电视剧里|剧里|游戏里|梦里|故事里|主角|听说|据说|说(?:是|他|她|自己|要|过)?[：:，“]|(?<![我小])说(?!明)|告诉|以为|认为|觉得|问(?:我|他|她|了|过|道|：)|传言",
)
# Words in quotation marks are said of, not said.
_MARKED = re.compile(r"[“”「]|(?<!\w)\"\w")
_PAST = _Cues(
    r"\b(?:used to|previously|formerly|originally|initially|at first|back (?:then|when|in (?:the day|the \d|\d|school|college|high))|when i was|as a (?:kid|child|student|teenager)|in (?:19|20)\d\d"
    r"|(?:years?|decades?) ago|last (?:year|spring|summer|autumn|fall|winter)|in the past|once (?:lived|worked|owned|had)|grew up|until (?:last|19\d\d|20\d\d)|before (?:that|we|i|my))\b",
    r"以前|之前|曾经?|原来|原先|本来|去年|前年|小时候|过去|当时|那时候?|当年|年前|上(?:大学|高中|初中|小学|学|班)(?:的时候|那会儿?|时)|那会儿|那阵子|那年|大学时|刚开始",
)
# "Was discharged" is an event; "was married" is a state.
_WAS = re.compile(
    r"\b(?:was|were)\b(?! (?:\w+ly |just )?(?!tired|married|interested|employed|based|called|named|located|allowed|supposed|used|worried|scared)\w{3,}ed\b)|\b(?:wasn't|weren't)\b|\bhad (?:an?|two|three|no|\d+)\b"
)
_ADDS = _Cues(
    r"\b(?:too|also|as well|another|additional(?:ly)?|in addition|besides|extra|both|on top of|one more|(?<!no )(?<!any )more|second|other|either|plus)\b",
    r"也|还(?!是|款|没|不)|另外|另一|又(?![变改调换涨降搬])|(?<!不)再(?!也|不)|第二|除了|同时|额外|加上|多了|新(?:放|添|装|开|来)了",
)
_TEMPORARY = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:time|once|morning|evening|afternoon|week|weekend|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|just (?:for|this)|for (?:now|today|tonight|this|the (?:week|weekend|day|summer|holidays?|next|moment|duration))|temporarily|temporary|while|during|except(?:ionally)?|only (?:on|for|this)"
    r"|over (?:christmas|easter|the)|on (?:public )?holidays|in (?:the )?(?:summer|winter|spring|autumn|fall|mornings?|evenings?)|on (?:week ?days|weekends?|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays))\b"
    r"|今天|明天|今晚|昨天|这次|这周|本周|下周|临时|暂时|除外|期间|例外|周末|节假日|放假|出差时|偶尔|有时"
)
_ONCE = re.compile(
    r"^(?:(?:this|next) (?:week|weekend|month)|tomorrow|tonight)\b|^(?:这周|本周|下周|明天|今晚)(?![一二三四五六日天起开])|\b(?:just|only) (?:this )?once\b|\bone-off\b|[就只](?:是|有)?[这那]一?[次回]|仅此一[次回]"
)
# What begins at a time and goes on is not temporary.
_FROM_THEN = re.compile(
    r"\b(?:from|since|as of|starting|beginning|effective|until) (?:today|tomorrow|this \w+|next \w+|now|on)\b(?: on)?|从?(?:今天|明天|本周|这周|下周|下个月|今年)(?:起|开始)|昨天"
)
_NEGATED = _Cues(
    r"\b(?:not|never|no|isn't|aren't|wasn't|don't|doesn't|didn't|haven't|hasn't|won't|can't|cannot|nor)\b(?! longer\b)",
    r"不(?!再|过|错|仅|只|同)|没有?|(?<![特区分个级性差告鉴])别(?=[去再来吃买用忘给让提说做])",
)
# Words that say outright that something is another than before.
_CHANGED = _Cues(
    r"\b(?:(?:has |have |had |is |are |was |were |got |been |just |now )*(?:moved|changed|switched|rescheduled|postponed|shifted|pushed|brought forward|swapped|replaced|updated"
    r"|renamed|raised|lowered|increased|reduced|cut|bumped|extended|shortened|revised|corrected|adjusted|dropped|transferred|relocated|upgraded|downgraded|promoted|migrated|converted|delayed))\b"
    r"|\b(?:went|gone|go(?:es)?) (?:up|down)\b|\b(?:rose|risen|fell|fallen|grew|grown|shrank|turned|became|become)\b|\bnew\b(?! york| zealand| delhi| orleans| jersey)|\binstead\b|\bno longer\b|\bany ?more\b|\bcorrection\b"
    r"|\b(?:sorry|oops|actually|i meant|i was wrong|scratch that|my mistake|wrong|not the)\b|\bas of\b|\bfrom (?:now on|today|this week|next)\b|\bsince (?=\w+day\b|this |last |yesterday|january|february|march|april|may|june|july|august|september|october|november|december|\d|then|spring|summer|autumn|winter|the (?:summer|move|split|new))|\bstarting\b|\bthese days\b|\bnowadays\b|\bmeanwhile\b|\bby now\b|\bnow\b|\bcurrently\b|\bat the moment\b|\b(?:ended up|settled on|went with|stays? at|stays|after all|back to|back at|change of plans?|until \d)\b"
    r"|\b(?:gone|went|go|going|switching|moving|came|come|got|get|getting) (?:over|back|from|out of|rid of|home|away)\b|\bback (?:home|from|in|at|on|to|with)\b|\b(?:up|down) (?:to|from)\b|\bagain\b"
    r"|\b(?:quit|quits|stopped|ceased|cancell?ed|finished|completed|ended|expired|closed|shut down|discontinued|sold|left|resigned|retired|stepped down|stepped back|took over|taken over|handed over|handed in"
    r"|gave (?:up|away|back)|given (?:up|away|back)|dropped out|broke (?:up|down)|split up|divorced|got (?:married|engaged|divorced|fired|hired|rid)|married|engaged|died|passed away|was born|gave birth|graduated"
    r"|started|began|begun|joined|hired|learned to|learnt to|found an?|passed my|renewed|rebooked|rescheduled|doubled|tripled|halved|repaired|fixed|rewrote|rewritten|redid|painted|rebuilt|rented|leased"
    r"|paid (?:off|back|me back)|returned|recovered|healed|lost|lent|swapped|put|brought|unsubscribed|signed up|opted|chose|decided|gave me|assigned|took the name|goes? by|no more|not any)\b"
    r"|\b(?:as it )?(?:turns|turned) out\b|\bchange of\b|\b\w+ change\b|\bafter all\b|\bonly\b(?= \w+ (?:once|twice|\d)| \w+ing)|\balone\b|\bfrom here on\b|\blately\b|\brecently\b|\bfinally\b|\bthese days\b",
    r"(?<!太)(?<!太.)(?<!太..)(?<!太...)[^，。！？极]了(?=[，。！？~]|$)|最近|别[^，。]{1,12}了|由[^，。]{1,8}(?:负责|接手|管)|追加|延长|缩短|约[到在]|租到|找到|拿到|考[完过上]|看完|读完|开始|恢复|治好|出院|退[休租了订掉]|辞|戒|停[掉了用]|卖[掉了]|丢了|坏了|分了|离了|关[了门闭]|取消|交给|接手|接替|到期|续[了签费]"
    r"|改[成为到在名签期用叫]?|换[成到了掉]?|变[成为更]?|调[整到成]|搬[到去了家]|转[到去为]|升[到为职级了]|降[到为了]|涨[到了]|推迟|提前|延[期后到]|挪到|移到|不再|如今|现在|目前|更正|更新|最新|(?<![创革翻清维最更全])新(?![兴品闻鲜年春疆华颖式生潮型]|加坡|西兰|能源|材料|技术|科技|时代|产品|方法)的?|其实|说错|记错|纠正|从今|从现在|起(?=[，。改])|还是|作废|(?:从|下个?月|下周[一二三四五六日天]?|今天|明天|本月|本周|今年)[^，。]{0,4}(?:开始|起)|最后|最终|已经?(?:是|改|换|到|变)|当上|当了|成了",
)
# Words by which nothing is told apart: they say what kind of value follows, or that it changed.
_KINDS = frozenset(terms("date time day number phone address price cost value id code email mail")) | frozenset(
    "日期 时间 号码 电话 手机 机号 价格 地点 地址 邮箱".split()
)
_WEAK = frozenset(
    terms(
        "dr mr mrs ms prof new change changed move moved switch switched update updated now currently current"
        " reschedule rescheduled postpone postponed push pushed shift shifted raise raised lower lowered increase increased reduce reduced bump bumped"
        " go went gone up down become became turn turned get got actually instead today since start starting take place happen set schedule scheduled"
        " correct correction revise revised adjust adjusted extend extended really just longer sorry oops mistake wrong mean meant please note remember"
        " final finally settle settled end ended recent recently lately these days nowadays use used replace replaced rename renamed"
        " make made have has be say tell let know need want will live stay week month year hour minute"
        " rise rose fall fell grow grew drop dropped cut delay delayed transfer transferred upgrade upgraded"
    )
) | frozenset("改换变调搬转升降涨新现目前更正推迟提挪移已经成今定是在为到从了的日")
_ZH_CUES = re.compile(
    r"改[成为到在名签期用叫]?|换[成到了掉]?|变[成为更]|调[整到成]|搬[到去了家]|转[到去为]|[升降涨][到为了]|推迟到?|提前到?|延[期后到]|挪到|移到|不再|如今|现在|目前|更正|更新为?"
    r"|新的|[我你他她咱们的]|上个?(?:月|周|星期)|昨[天晚]|前天|今[天早]|刚才|最后|终于|从?(?:今天|明天|本周|下周|下个月)(?:起|开始)|每[天周月年]|其实|说错了?|记错了?|从今|从现在|已经?|了(?=[，。]|$)|刚刚?|今后|以后"
)
_PEOPLE = frozenset(
    terms(
        "sister brother mother mom mum father dad wife husband partner girlfriend boyfriend fiance fiancee son daughter kid child baby cousin uncle"
        " parent couple guy aunt nephew niece grandma grandmother grandpa grandfather parent friend roommate flatmate neighbor neighbour colleague coworker boss manager"
        " teammate assistant landlord tenant dog cat puppy kitten horse twin"
    )
)
# "My brother-in-law" is not my brother, nor is an ex or a stepsister who the word behind it says.
_IN_LAW = re.compile(
    r"\b\w+-in-law\b|\b(?:ex|step|half|great|god)-?(?:\w*?)(?:mother|father|sister|brother|son|daughter|wife|husband|girlfriend|boyfriend|aunt|uncle|mum|dad)\b"
)
_ZH_PEOPLE = re.compile(
    r"岳[父母]|公公|婆婆|舅[妈母]|婶[婶子]|姑[父妈]|姨[妈父]|伯[父母]|侄[子女儿]|外甥女?|嫂[嫂子]|姐夫|妹夫|弟媳|儿媳|女婿|孙[子女]"
    r"|上司|下属|主管|导师|员工|徒弟|师傅|妈妈?|爸爸?|母亲|父亲|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥?|姐姐?|弟弟?|妹妹?|老公|老婆|妻子|丈夫|女儿|儿子|孩子|宝宝|表[哥姐弟妹]|堂[哥姐弟妹]"
    r"|叔叔?|阿姨|舅舅?|姑姑?|同事|老板|领导|朋友|闺蜜|室友|邻居|房东|男友|女友|男朋友|女朋友|同学|狗|猫|客户"
)
_NAME = re.compile(r"(?<![A-Za-z])[A-Z][a-z]+(?:[A-Z][a-z]+)?(?![A-Za-z])|\b[A-Z]{2,}\b")
_NO_NAMES = frozenset(
    "I The A An My Our His Her Their Its We They He She It This That These Those Now Actually And But So Also Monday Tuesday Wednesday Thursday"
    " Friday Saturday Sunday January February March April May June July August September October November December Please Sorry Hi Hey Hello Yes No"
    " There Update Correction FYI OK Just Heads Good Great Quick As Since From In On At For After Before When Starting Instead Not New Turns Oops Dr Mr Mrs Ms".split()
)
_OWN = re.compile(r"^\W*(?:(?:[a-z]+,? ){0,2})?\b(?:i|we|my|our|mine|ours|me|us)\b|我|咱")
_OTHERS = re.compile(
    r"\b(?:his|her|their|he|she|they|your|you)\b|(?<!Today)(?<!today)['’]s\b|[他她你]|\b(?-i:[A-Z][a-z]+)$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\bnot|\binstead of|\brather than|不是|而不是|而非)\s?(?:the |at |on |in )?$")
# "Doesn't open until 9" says when it opens; "not seven" says what it is not; "No, at nine" denies what was said before.
_NOT_NEGATED = re.compile(
    r"^\W*no(?:\s?[,:;!]|\s[-–—])\s(?=\w)(?!.*(?:\bnot\b|n['’]t\b))|\b(?:doesn't|don't|won't|didn't|not|isn't)\b(?=[^,;.]*\b(?:until|till|before|any ?more|any longer)\b)|(?<!\bdo)(?<!\bdoes)(?<!\bdid),? (?:and |but )?not (?:the |at |on |in )?[\w:.]+|不(?:是|再)|[，]?而不是"
)
_CHANGES_THING = re.compile(
    r"(?:(?:have|has|had|'ve|'s|just|now|recently|finally|already|also)\s)*(?:moved|changed|switched|pushed|raised|lowered|increased|reduced|cut|bumped|rescheduled|postponed|extended|shortened|updated|set"
    r"|brought|transferred|relocated|upgraded|downgraded|migrated|converted|renamed|put|shifted|adjusted)\s"
    r"(?P<thing>(?!to\b|from\b|into\b|up\b|down\b|back\b|out\b|in\b|house\b)[^,;.!?]{1,60}?)\s(?:over\s|up\s|down\s|back\s|forward\s|again\s)*(?:to|into|from|until|by)\s"
)
_ZH_CHANGES_THING = re.compile(
    r"把(?P<thing>[^，。；！？]{1,15}?)(?:的时间|的地点)?(?:从[^，。]{1,12})?(?:改|换|调|搬|挪|移|升|降|提|推|延|定)"
)
# What opens a sentence before its subject: "Sad news, …", "Correction: …".
_PREFIX = re.compile(
    r"^(?:(?:[A-Za-z']+\s){0,4}[A-Za-z']+(?:[,:!]|\s[-–—])\s(?=\w)|(?:btw|fyi|so|ok|and|but|well|now|also|then)\s|[^，。：]{1,6}[，：])+"
)
_ENDS = _Cues(
    r"\b(?:no longer|any ?more|no more|stopped|quit|gave up|given up|cancell?ed|dropped|ended|(?:is|are|was|were|'s) over|finished|sold|left)\b",
    r"不再|不[^，。]{1,12}了|停|退|取消|卖|戒|完了|结束",
)
_OWN_WORDS = re.compile(r"\b(?:i|we|my|our|me|us|mine|ours)\b|我|咱")
# Whose thing it is that somebody changes, when it is theirs.
_THIRDS = re.compile(r"\b(?:his|her|their)\b|[他她]|自己")
_FIRST_NAME = re.compile(r"([A-Z][a-z]+)\s")
_NEXT_DOOR = re.compile(
    r"\bnext door\b|\bacross the (?:street|road|hall)\b|隔壁|对面|楼[上下]|别人|人家|邻居", re.IGNORECASE
)
_POSSESSOR = re.compile(r"^(.+)['’]s\b|\s(?:of|for|at|in)\s(.+)$|^(.+)的(?!$)")
_VERB_TERMS = re.compile(r"[A-Za-z]+")
_BESIDE_VERB = frozenset(
    "now currently recently just usually always also have has ve had been do does finally already still only really s".split()
)
_COPULAS = frozenset("am is are was were be m re".split())


@dataclass(frozen=True, slots=True)
class Claim:
    """One clause of a sentence as a claim.

    `number`: which clause. `owner`: "own" when its subject is the speaker's, "other" when it is somebody else's, "" for
    a thing of nobody in particular. `of`: terms of what the subject belongs to ("the … of the harbour"). `people`: terms of persons (and pets) that it is about, none for the speaker; `mentions`: those of the whole clause; `names`:
    names in it outside its value; `subject`, `topic`: content terms of its subject, and of all but the values; `verb`:
    the stem of its verb; `thing`: its subject is what somebody changes; `objects`: content terms after the verb; `values`: those known by their form.

    `tense`: "past" when the verb is a simple past. `asserts`: it says what is so (it does not ask, plan, wish, suppose
    or quote); `quotes`, `asks`: it does so. `past`: it was so. `changes`: it says that something is another than before. `adds`: it says that something is so besides. `negated`: something is not so. `ends`: something is over. `elsewhere`: it is next door's. `speaks_of_own`: it names what
    is the speaker's.
    """

    clause: Clause
    number: int
    owner: str
    of: frozenset[str]
    people: frozenset[str]
    mentions: frozenset[str]
    names: frozenset[str]
    subject: frozenset[str]
    topic: frozenset[str]
    verb: str
    thing: bool
    objects: frozenset[str]
    values: tuple[Value, ...]
    tense: str
    asserts: bool
    quotes: bool
    asks: bool
    past: bool
    changes: bool
    adds: bool
    ends: bool
    elsewhere: bool
    speaks_of_own: bool
    negated: bool
    temporary: frozenset[str]


def claims(sentence: str) -> tuple[Claim, ...]:
    """The claims of `sentence`, one a clause, in order."""
    return _claims(sentence)


@lru_cache(maxsize=512)
def _claims(sentence: str) -> tuple[Claim, ...]:
    asks, lower = is_question(sentence), to_lower_case(sentence)
    return tuple(_claim(sentence, lower, clause, number, asks) for number, clause in enumerate(clauses(sentence)))


def _claim(sentence: str, lower: str, clause: Clause, number: int, asks: bool) -> Claim:
    """`lower`: the sentence in lower case."""
    words, lower_words = clause.text, to_lower_case(clause.text)
    # "at eight, not seven": what is denied is no value.
    found = tuple(value for value in values(words) if not _DENIED.search(lower_words[: value.start]))
    since = [match.span() for match in _FROM_THEN.finditer(lower_words)]
    # "From next month it is 5": that is when it changes.
    lasting = tuple(one for one in found if not any(start <= one.start < end for start, end in since))
    found = lasting or found
    bare = _without(words, found)
    lower_bare = to_lower_case(bare)
    said = _ZH_CUES.sub(" ", bare)
    subject_words = _find_subject(sentence, lower, clause)
    after, lower_after = sentence[clause.predicate : clause.end], lower[clause.predicate : clause.end]
    changed_thing = _find_changed_thing(words, after, lower_after)
    if changed_thing is not None:
        subject_words = changed_thing
    until_end = lower[: clause.end]
    mood = _NOT_SAID.are_in(until_end) or _MAY.search(sentence[: clause.end]) is not None
    hearsay = _HEARSAY.are_in(until_end)
    changed = _CHANGED.are_in(lower_words)
    subject = _content(_ZH_PEOPLE.sub(" ", _ZH_CUES.sub(" ", _without(subject_words, values(subject_words)))))
    verb, tense, objects = _predicate(after)
    people = _people(to_lower_case(subject_words))
    mentions = _people(lower_words)
    if changed_thing is not None and not people and _THIRDS.search(to_lower_case(changed_thing)):
        people = mentions
    return Claim(
        clause=clause,
        number=number,
        owner=_owner(subject_words, words, lower_words, people),
        of=_of(to_lower_case(subject_words)),
        people=people,
        mentions=mentions,
        names=_names(bare),
        subject=subject - people,
        topic=_content(said) | subject,
        verb=verb,
        thing=changed_thing is not None,
        objects=objects,
        values=found,
        tense=tense,
        asserts=not (asks or mood or hearsay or _MARKED.search(until_end)),
        quotes=hearsay,
        asks=asks,
        past=_PAST.are_in(lower_words) or (_WAS.search(lower_words) is not None and not changed),
        changes=changed,
        adds=_ADDS.are_in(lower_bare),
        ends=_ENDS.are_in(lower_words),
        elsewhere=_NEXT_DOOR.search(lower_words) is not None,
        speaks_of_own=_OWN_WORDS.search(lower_words) is not None,
        negated=_NEGATED.are_in(_NOT_NEGATED.sub(" ", lower_words)),
        temporary=frozenset(
            match.group()
            for match in (*_TEMPORARY.finditer(_FROM_THEN.sub(" ", lower_bare)), *_ONCE.finditer(lower_words))
        ),
    )


@lru_cache(maxsize=1024)
def telling(topic: frozenset[str]) -> frozenset[str]:
    """The terms of `topic` that say what it is about: no words of change, no Chinese character that a pair of them
    holds."""
    left = {
        term for term in topic - _WEAK if len(term) < 2 or not is_cjk(term[0]) or FUNCTION_CHARACTERS.isdisjoint(term)
    }
    pairs = {character for term in left if len(term) == 2 and is_cjk(term[0]) for character in term}
    return frozenset(term for term in left if term not in pairs)


def strong(topic: frozenset[str]) -> frozenset[str]:
    """The `telling` terms by which one thing is told from another: without those that only say what kind of value
    follows ("date", "number")."""
    return telling(topic) - _KINDS


def _find_subject(sentence: str, lower: str, clause: Clause) -> str:
    """The words of the clause's subject; "" without one. `lower`: the sentence in lower case."""
    if not clause.subject:
        return ""
    start, end = clause.subject
    prefix = _PREFIX.match(lower[start:end])
    return sentence[start + (prefix.end() if prefix else 0) : end]


def _find_changed_thing(words: str, predicate: str, lower_predicate: str) -> str | None:
    """What somebody changes, in "they moved Anna's desk to …": it is spoken of, whoever does it."""
    if match := _CHANGES_THING.match(lower_predicate):
        return predicate[slice(*match.span("thing"))]
    match = _ZH_CHANGES_THING.search(words)
    return match.group("thing") if match else None


def _content(words: str) -> frozenset[str]:
    return frozenset(terms(words))


def _without(words: str, found: tuple[Value, ...]) -> str:
    for value in reversed(found):
        words = words[: value.start] + " " * (value.end - value.start) + words[value.end :]
    return words


def _people(lower: str) -> frozenset[str]:
    """Terms of the people in a subject in lower case; of "my sister's desk" it is the sister whose desk it is."""
    kin = frozenset(terms(_IN_LAW.sub(" ", lower))) & _PEOPLE | frozenset(
        match.group() for match in _IN_LAW.finditer(lower)
    )
    chinese = frozenset(match.group() for match in _ZH_PEOPLE.finditer(lower))
    return kin | chinese


def _owner(subject: str, words: str, lower_words: str, people: frozenset[str]) -> str:
    lower = to_lower_case(subject)
    if lower.strip() in ("they", "you") and _OWN_WORDS.search(lower_words):
        return "own"
    if people or _NEXT_DOOR.search(lower):
        return "other"
    named = _FIRST_NAME.match(words)
    if named and subject.strip() == words.strip() and named.group(1) not in _NO_NAMES:
        # No verb was recognised: what it begins with is who it is about.
        return "other"
    if _OWN.search(lower):
        return "own"
    return "other" if _OTHERS.search(subject) else "" if subject else "own"


def _of(lower: str) -> frozenset[str]:
    match = _POSSESSOR.search(lower.replace("里的", "的"))
    return frozenset(terms(next(filter(None, match.groups())))) if match else frozenset()


def _names(words: str) -> frozenset[str]:
    return frozenset(
        term
        for match in _NAME.finditer(words)
        if match.group() not in _NO_NAMES and not (match.start() == 0 and match.group().lower() in FINITE)
        for term in terms(match.group())
    )


def _predicate(words: str) -> tuple[str, str, frozenset[str]]:
    """The stem of the verb that `words` begin with, its tense, and the content terms of what follows."""
    if words and is_cjk(words[0]):
        stripped = _CHANGED.cut_out(words)
        head = next((character for character in stripped if character not in FUNCTION_CHARACTERS), "")
        return head, "", frozenset(terms(stripped)) - {head}
    if words[:1] in ("'", "’") and words[1:3].lower().strip() in ("s", "re", "m"):
        return "be", "", frozenset(terms(words[3:]))
    for match in _VERB_TERMS.finditer(words):
        word = match.group().lower()
        if word in _BESIDE_VERB:
            continue
        if word in _COPULAS:
            return "be", "past" if word in ("was", "were") else "", frozenset(terms(words[match.end() :]))
        [stem, *_] = terms(match.group()) or [""]
        if stem:
            past = word in SIMPLE_PAST or (word.endswith("ed") and len(word) > 3)
            return stem, "past" if past else "", frozenset(terms(words[match.end() :]))
    return "", "", frozenset()
