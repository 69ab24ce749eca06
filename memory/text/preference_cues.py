"""English and Chinese patterns for saying what one likes, dislikes, can't have and usually does.

Every pattern is matched after the subject of a clause of bounded length, so that the time is linear in the length of
the text. English is matched in lower case with straight apostrophes and "'m" expanded.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.enums import Attitude

# Strength of a statement, from 0 to 1.
STRONG, PLAIN, MILD = 0.9, 0.7, 0.5


class PreferenceCue(NamedTuple):
    """A pattern that is matched after the subject, with the attitude it shows and the minimum strength.

    `wanted` tells whether what follows the match (or its group `object`) is wanted.
    """

    attitude: Attitude
    pattern: re.Pattern[str]
    strength: float
    wanted: bool


def _cue(attitude: Attitude, pattern: str, strength: float = PLAIN, *, wanted: bool = False) -> PreferenceCue:
    return PreferenceCue(attitude, re.compile(pattern, re.VERBOSE), strength, wanted)


_DEGREE = (
    r"(?:(?!only\b|rarely\b|hardly\b|barely\b|apply\b|supply\b|rely\b|reply\b|fly\b|possibly\b|probably\b)"
    r"(?:[a-z]{2,12}ly|often|also|just|still|very|much|rather|quite|pretty|always|so|tend[ ]to|try[ ](?:my[ ]best[ ])?to)[ ])*"
)
_ARTICLE = r"(?:an?|no|any|some|the)[ ](?:[a-z-]{2,14}[ ]){0,2}"
_FAN = r"(?:an?[ ])?(?:[a-z-]{3,12}[ ])?(?:fan|lover)[ ]of"
_NOT = r"(?:don't|do[ ]not|never|no[ ]longer)"

ENGLISH: tuple[PreferenceCue, ...] = (
    _cue(
        Attitude.CONSTRAINT,
        rf"""am[ ]{_DEGREE}(?:allergic|intolerant)[ ]to\b
        |(?:am|have)[ ]{_DEGREE}(?:an?[ ])?(?P<object>(?:[a-z-]{{2,14}}[ ]){{0,5}}?(?:intolerant|intolerance|allergy))\b(?![ ](?:to|against)\b)
        |have[ ]{_ARTICLE}(?:allergy|intolerance|sensitivity)[ ](?:to|against)\b""",
        STRONG,
    ),
    _cue(
        Attitude.CONSTRAINT,
        rf"""am[ ]{_DEGREE}(?:an?[ ])?(?P<object>(?:strict[ ])?(?:vegan|vegetarian|pescatarian|coeliac|celiac
        |teetotal(?:ler)?))\b(?![ -](?!(?:and|but|who|so|because|for|since|now)\b)[a-z])
        |am[ ]on[ ]an?[ ](?P<regimen>(?:[a-z-]{{2,14}}[ ]){{1,3}}diet)\b|{_DEGREE}(?:follow|keep[ ]to|stick[ ]to|adhere[ ]to)[ ]an?[ ](?P<diet>(?:[a-z-]{{2,14}}[ ]){{1,3}}diet)\b""",
        STRONG,
        wanted=True,
    ),
    _cue(
        Attitude.CONSTRAINT,
        rf"""{_DEGREE}(?:insist[ ]on|only[ ](?:want|consider|enjoy|like|date)|(?:can[ ]|will[ ])?(?:only|exclusively|strictly|solely)[ ](?:ever[ ])?(?:eat|drink|wear|watch|buy|use|read|fly|shop|play|order|consume
        |drive|dine|stay[ ](?:in|at)|listen[ ]to))\b""",
        STRONG,
        wanted=True,
    ),
    _cue(
        Attitude.CONSTRAINT,
        rf"""{_DEGREE}(?:refuse[ ]to\b(?![ ](?:believe|accept|answer|admit|think|let|say|comment|give))
        |(?:(?:have|need|must|prefer|like|choose)[ ](?:to[ ])?)?{_DEGREE}
        (?:avoid|(?:stay|keep|shy)[ ]away[ ]from|steer[ ]clear[ ]of|abstain[ ]from)
        |(?:can't|cannot|can[ ]not|must[ ]not|mustn't|am[ ]not[ ]allowed[ ]to)[ ](?:eat|drink|have|consume|digest
        |tolerate|handle|wear|smoke)
        |never[ ](?:ever[ ])?(?:eat|drink|use|wear|watch|buy|stay[ ](?:in|at)|fly|drive|ride|read|play|smoke|consume
        |order|shop|travel|go[ ]to|listen[ ]to)
        |(?:don't|do[ ]not|no[ ]longer)[ ](?:ever[ ])?(?:eat|drink|wear|watch|smoke|consume|fly|read|buy|play|drive|use
        |listen[ ]to))\b""",
        STRONG,
    ),
    _cue(
        Attitude.CONSTRAINT,
        rf"""am[ ]{_DEGREE}(?:opposed[ ]to|sensitive[ ]to|against(?![ ]the\b)|afraid[ ]of|scared[ ]of|terrified[ ]of|averse[ ]to)\b
        |have[ ]{_ARTICLE}(?:phobia|fear)[ ]of\b
        |have[ ]{_ARTICLE}(?:objections?[ ]to|bias[ ]against)\b|(?:will[ ]not|won't)[ ](?:ever[ ])?(?:eat|drink|wear|buy
        |consider|watch)\b""",
    ),
    _cue(
        Attitude.DISLIKE,
        rf"""{_DEGREE}(?:dislike|hate\b(?![ ]to[ ](?:say|bother|ask|admit|interrupt|tell|be|break|see|think))|detest
        |despise|loathe|(?:can't|cannot|can[ ]not)[ ](?:stand|bear|abide))\b
        |have[ ]{_ARTICLE}(?:aversion[ ]to|dislike[ ](?:of|for)|distaste[ ]for|hatred[ ](?:of|for))\b""",
        STRONG,
    ),
    _cue(
        Attitude.DISLIKE,
        rf"""{_DEGREE}{_NOT}[ ]{_DEGREE}(?:like|love|enjoy|care[ ]for)\b
        |am[ ]{_DEGREE}uninterested[ ]in\b|am[ ](?:not|no)[ ]{_DEGREE}(?:{_FAN}|fond[ ]of|into|keen[ ]on|interested[ ]in|comfortable[ ](?:with|around))\b
        |have[ ](?:no|little|zero)[ ](?:interest[ ]in|patience[ ]for|taste[ ]for)\b
        |{_DEGREE}prefer[ ]not\b|would[ ](?:always[ ])?rather[ ]not\b
        |(?:am|feel|get)[ ]{_DEGREE}(?:uncomfortable|uneasy|anxious|bored|annoyed|irritated|put[ ]off|turned[ ]off
        |overwhelmed|stressed|distracted)[ ](?:with|in|around|by|at|on|(?=[a-z]{{3,12}}ing\b))\b""",
    ),
    _cue(
        Attitude.LIKE,
        rf"""{_DEGREE}(?:love|adore)\b(?![ ]to[ ](?:hear|see|know|say|think))
        |am[ ]{_DEGREE}(?:an?[ ])?(?:huge|big|massive|passionate|devoted|die-hard|avid)[ ](?:fan|lover)[ ]of\b
        |am[ ]{_DEGREE}(?:passionate|crazy|mad)[ ]about\b|am[ ]{_DEGREE}fascinated[ ]by\b|have[ ]{_ARTICLE}passion[ ]for\b
        |(?:strongly|firmly)[ ]believe[ ]in\b""",
        STRONG,
        wanted=True,
    ),
    _cue(
        Attitude.LIKE,
        rf"""{_DEGREE}(?:prefer(?![ ]not)|favou?r|prioriti[sz]e|learn[ ]best|enjoy|like\b(?![ ]to[ ](?:think|say|believe|imagine|point|know|add|ask
        |see|hear|thank|share|report))|gravitate[ ]towards?|lean[ ]towards?)\b
        |am[ ]{_DEGREE}(?:{_FAN}|fond[ ]of|into|keen[ ]on|drawn[ ]to|partial[ ]to)\b
        |have[ ]{_ARTICLE}(?:preference[ ]for|soft[ ]spot[ ]for|weakness[ ]for|fondness[ ]for)\b
        |would[ ](?:always[ ])?rather\b|would[ ](?:always|generally|usually)[ ]prefer\b""",
        wanted=True,
    ),
    _cue(
        Attitude.HABIT,
        r"""(?:always|usually|normally|typically|generally|mostly|almost[ ]always|nearly[ ]always|tend[ ]to)[ ]
        (?=(?:eat|drink|have|use|wear|watch|buy|take|stay|fly|drive|ride|read|play|listen|cook|run|swim|travel|go|work
        |shop|choose|book|order|sit|sleep|get[ ]up|wake[ ]up|walk|cycle|pay|start|bring|skip|pick|rent|meditate
        |exercise|train)\b)|am[ ](?=an?[ ](?:early[ ](?:riser|bird)|night[ ]owl|morning[ ]person|light[ ]sleeper)\b)""",
        MILD,
        wanted=True,
    ),
)
FOUND_BAD = frozenset(
    "annoying boring ineffective overwhelming stressful distracting uncomfortable exhausting tedious intimidating"
    " unpleasant off-putting irritating dull unappealing disgusting repulsive frustrating tiring draining confusing"
    " depressing monotonous impractical unhelpful unhealthy unethical tacky pretentious gross scary loud noisy"
    " distressing disorienting restrictive demotivating disturbing".split()
)
FOUND_GOOD = frozenset(
    "relaxing enjoyable soothing helpful effective engaging inspiring comforting calming motivating fascinating"
    " satisfying therapeutic refreshing delicious beautiful charming comfortable rewarding".split()
)
# "I find flashcards ineffective": the adjective after the object decides if it is wanted.
FINDS = re.compile(
    r"(?:[a-z]{3,12} ){0,2}find (?!it )(?P<object>[^,;.]{3,100}?) (?:(?:too|very|really|so|rather|quite|incredibly) )?"
    rf"(?P<how>{'|'.join(sorted(FOUND_BAD | FOUND_GOOD))})(?=[ ,.;!]|$)"
)
FINDS_DOING = re.compile(
    r"(?:[a-z]{3,12} ){0,2}find it (?:(?:too|very|really|so|rather|quite|incredibly) )?(?P<how>[a-z-]{4,20}) to"
    r" (?P<object>.+)"
)
FAVOURITE = re.compile(
    r"my (?:all-time |absolute |personal )?favou?rite (?P<topic>[a-z][a-z -]{1,40}?)"
    r"(?:'s| is| are| has always been) (?P<object>(?!not\b).+)"
)
# Words before the subject that don't change the meaning.
ENGLISH_OPENING = re.compile(
    r"(?:(?:and|but|so|well|oh|ok(?:ay)?|hi|hello|hey|yes|yeah|no|sure|thanks|also|plus|anyway|actually|honestly|frankly"
    r"|personally|to be honest|in general|generally|usually|normally|as a rule|by the way|btw|fyi|for me|as for me"
    r"|just so you know|please note(?: that)?|please remember(?: that)?|remember(?: that)?|keep in mind(?: that)?"
    r"|note(?: that)?|for the record|one thing|because|since|as|though|while|unfortunately|these days|nowadays|lately"
    r"|now|currently|when(?:ever)? i(?:'m| am)? [^,]{2,40}|when travell?ing|(?:due to|given|because of) [^,]{2,60}|(?:on|in|at|for|during|with) [^,]{2,30})"
    r"(?:[,:] | - | (?=i\b|i'm\b|my\b|please\b)))*"
)
ENGLISH_SUBJECT = re.compile(r"i(?:'ve| have) (?P<since>always|never) (?=(?:really )?(?:[a-z]+ed)\b)|i ")
PARTICIPLES = {
    "loved": "love", "liked": "like", "hated": "hate", "preferred": "prefer", "enjoyed": "enjoy", "avoided": "avoid",
    "disliked": "dislike", "adored": "adore", "favoured": "favour", "favored": "favor", "detested": "detest",
}  # fmt: skip
# Ends a clause with one attitude; the next clause has its own subject.
ENGLISH_BREAK = re.compile(
    r" ?[;:] |\s[-–—]\s|,? (?:and|but|so|because|since|although|though|whereas|while|yet|as) (?=(?:i|i'm|i've|i'd|my)\b)"
    r"|,? (?:and|but|yet) (?=(?:[a-z]{4,12} ){0,2}(?:prefer|avoid|dislike|hate|love|enjoy|find|refuse|never|don't"
    r"|can't|cannot|only|always)\b)|, (?=(?:i|i'm|i've|my)\b)"
)

_ADVERBS_ZH = (
    r"(?:自己|个人|本人|一直|从来|真的|其实|也|都|还是|最|比较|特别|非常|很|超级?|挺|蛮|更|就|只是|平时|一般|通常|向来"
    r"|始终|现在|确实|相当|尤其|基本上?|坚决|实在|完全|有点儿?|十分|极其|格外|的确|严重|从小就?)*"
)
_ACTS_ZH = r"(?:吃(?!惊|亏|力|透|准|醋的|香(?![菜蕉肠]))|喝|碰|穿|坐|住(?!口)|看(?!好|重)|抽|玩|听(?!话)|养|戴)"
CHINESE: tuple[PreferenceCue, ...] = (
    _cue(
        Attitude.CONSTRAINT,
        r"对(?P<object>[^，。；！？\s]{1,16}?)(?:严重|重度|轻微|有点|有些?|都)?(?:过敏|不耐受)|(?P<intolerance>乳糖|麸质|酒精)不耐受",
        STRONG,
    ),
    _cue(
        Attitude.CONSTRAINT,
        r"是(?:个|一个|一名)?(?P<object>(?:纯|严格的?)?素食(?:主义)?者|早起的人|夜猫子)|(?P<diet>吃(?:全|纯|长)?素(?!菜))",
        STRONG,
        wanted=True,
    ),
    _cue(
        Attitude.CONSTRAINT,
        r"只(?:吃|喝|穿|买|坐|住|看|听|玩|用)(?!了|过|是|一[次下会点]|这)",
        STRONG,
        wanted=True,
    ),
    _cue(
        Attitude.CONSTRAINT,
        rf"(?:从来?不|绝不|坚决不|一律不|从不)(?:{_ACTS_ZH}|用|买|去)|(?:不能|不可以|不敢)(?:吃|喝|碰|抽|沾)"
        rf"|不(?:太|怎么|大|再)?{_ACTS_ZH}(?!了|惯|到|见|懂|起|下)|(?:尽量|都会|总是)?(?:避免|避开)|忌(?:口|吃)|尽量[不别]{_ACTS_ZH}"
        r"|拒绝(?!了)|(?:害怕|怕|恐惧)(?=[热冷高黑吵辣水狗猫虫蛇飞痛疼挤酸苦])|(?P<object>恐高|晕[车船机])",
        STRONG,
    ),
    _cue(
        Attitude.DISLIKE,
        r"讨厌|厌恶|反感|痛恨|(?:受|忍受|接受|吃|看|住|坐|用|听|喝|穿)不(?:了|惯)|(?:无法|不能|没办法)(?:忍受|接受|容忍)",
        STRONG,
    ),
    _cue(
        Attitude.DISLIKE,
        r"不(?:太|怎么|是很|是特别|大|很|再|那么|是太)?(?:喜欢|爱(?![你他她])|习惯)"
        r"|对(?P<object>[^，。；！？\s]{1,16}?)(?:没有?|不太?|毫无|提不起|不怎么)(?:什么|任何|感)?兴趣",
    ),
    _cue(Attitude.LIKE, r"热爱|酷爱|钟爱|痴迷于?|最爱(?!的)|迷上了?", STRONG, wanted=True),
    _cue(
        Attitude.LIKE,
        r"喜欢(?!上?[你他她]|的)|喜爱(?!的)|偏爱|偏好|爱(?=[吃喝看听玩穿用读逛坐住跑爬])|更?倾向于?|更愿意|宁愿|宁可"
        r"|对(?P<object>[^，。；！？\s不没]{1,16}?)(?:很|非常|特别|比较)?感兴趣",
        wanted=True,
    ),
    _cue(
        Attitude.HABIT,
        r"习惯(?:了|于|在)?|(?:总是|老是|每天(?:早上|晚上|中午|都)?都?|每晚都?|每次都|一般都?|通常都?|平时都?)(?=[吃喝穿坐住看听玩用跑睡起买骑走去点])",
        MILD,
        wanted=True,
    ),
)
# Recognise habits by adverbs before the verb, and by verbs of regular activities.
REGULARLY_ZH = re.compile(r"平时|一般|通常|向来")
ACTS_ZH = re.compile(r"[吃喝穿坐住看听玩用跑睡起买骑走点](?![了过])")
FAVOURITE_ZH = re.compile(
    r"我最(?:喜欢|爱)的(?P<topic>[^，。；！？\s]{1,10}?)(?:一直|始终)?是(?P<object>[^不，。；！？][^，。；！？]{0,30})"
)
CHINESE_OPENING = re.compile(
    r"(?:(?:其实|不过|但是?|而且|另外|还有|因为|所以|一般来说|平时|通常|说实话|老实说|对了|顺便说一下|请注意|请记住|记住"
    r"|对我来说|现在|最近|如今|一般|出差时?|旅行时?|旅游时?|在家时?|工作时|周末|早上|晚上)[，,：: ]?)*"
)
CHINESE_SUBJECT = re.compile(rf"我{_ADVERBS_ZH}")
CHINESE_BREAK = re.compile(r"[，,；;]\s*")
