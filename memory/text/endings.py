"""Finds what a sentence explicitly ends or takes back: "I no longer …", "I sold the car", "forget …", 我把车卖了.

Cues are closed lists of English and Chinese words. Sentences have bounded length (see `split_sentences`), and so has
the time of the patterns. A new value ("the rent is 950 now") isn't an ending: `governance.update_score` weighs it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memory.text.analysis import FUNCTION_CHARACTERS, is_cjk, terms
from memory.text.moods import Mood, find_moods

_THING = r"(?:[^,;:!?.，。；：！？]|\.(?=\S)|,(?=\d)){1,120}?"
_END = (
    r"(?=\s*(?:[,;:!?，。；：！？]|\.(?:\s|$)|\s(?:but|because|since|so|and (?:i|we|it|that|my)|as (?:i|we|it)|after|when|for"
    r" good)\b|$))"
)
_I = r"(?:i|we)"
_SOFTLY = r"(?:(?:actually|just|also|already|finally|recently|now|really|officially|both)\s+)*"
# The speaker is the subject, which notes leave out: "Cancelled the gym".
_DONE_BY_SPEAKER = rf"(?:\b{_I}(?:'ve|\s+have|'m|\s+am|'re|\s+are)?\s+{_SOFTLY}|^\W*{_SOFTLY})"
_GIVEN_UP = (
    r"(?:(?:stopped|done(?:\s+with)?|through\s+with)(?=\s+\w+ing\b)|quit|gave\s+up(?:\s+on)?|given\s+up(?:\s+on)?|packed\s+in"
    r"|dropped\s+out\s+of|(?:pulled|backed|opted|walked)\s+out\s+of|(?:walked|come|came)\s+away\s+from|(?:come|came)\s+off"
    r"|parted\s+(?:with|from)|ditched|scrapped|binned|chucked(?:\s+out)?|thrown\s+out|threw\s+out|uninstalled|deactivated"
    r"|discontinued|wound\s+up|closed\s+down|handed\s+(?:back|in)|(?:didn't|did\s+not)\s+renew|cancell?ed|called\s+off|(?:sold(?:\s+off)?|returned)(?=\s+(?:the|my|our|both|all)\b)|gave\s+away"
    r"|given\s+away|got\s+rid\s+of|gotten\s+rid\s+of|unsubscribed\s+from|resigned\s+(?:from|as)|retired\s+from"
    r"|stepped\s+down\s+(?:from|as)|withdr(?:ew|awn)\s+from|moved\s+out\s+of|broke(?:n)?\s+up\s+with|split\s+up\s+with"
    r"|shut\s+down|gone\s+off|went\s+off|grown\s+out\s+of|outgrown|fallen\s+out\s+of\s+love\s+with|moved\s+on\s+from"
    r"|lost\s+(?:all\s+)?interest\s+in|(?:tired|bored|sick)\s+of|deleted(?=\s+(?:the|my|our)\b)"
    r"|(?:ended|terminated)(?=[^,.;]*\b(?:contract|tenancy|subscription|membership|lease|agreement|relationship|engagement)\b)"
    r"|closed(?=\s+(?:my|our|the)\s+(?:[\w'’-]+\s+)?(?:account|unit|shop|business|branch|office)\b)"
    r"|left(?=\s+(?:my|the)\s+(?:[\w'’]+\s+)?(?:job|company|firm|club|team|council|group|band|choir|board|party|committee"
    r"|church|union|course|class)\b))"
)
_ASKED = (
    r"(?:^\W*(?:(?:yes|no|ok|okay|actually|also|and|so|then|oh),?\s+)*(?:never\s?mind,?\s+)?|\bplease,?\s+(?:also\s+)?"
    r"|\b(?:can|could|would|will)\s+you\s+(?:please\s+)?|\byou\s+(?:can|may|should)\s+|[,;:–—-]\s+)"
)
_FORGET = (
    r"(?:remove|delete|erase|discard|strike|wipe|forget(?:\s+about)?|ignore|disregard|scratch|take\s+back|cross\s+off)"
)
_WHAT_WAS_SAID = (
    r"(?:(?:everything|anything|all(?:\s+that)?|what(?:ever)?|the\s+(?:bit|part|thing|info(?:rmation)?))\s+"
    r"(?:(?:i|we|you)(?:'ve)?\s+(?:have\s+)?(?:said|told\s+you|wrote|written|gave\s+you|know|heard|stored)\s+)?"
    r"(?:about|of|on)\s+)?"
)
_CHINESE_THING = r"[^，。；！？、]{1,30}?"
_CHINESE_GIVEN_UP = r"(?:卖|卸载|退订|退租|退掉|退赛|退役|退出|退|解约|取消|注销|停用|停|戒|辞|丢|弃|放弃|送人|送给[^，。]{1,6}|扔|转让|转手|处理|解除|拆|关|砍|终止|删)"

_ENDED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_DONE_BY_SPEAKER}{_GIVEN_UP}\s+(?P<thing>{_THING}){_END}",
        rf"\b{_I}(?:'ve|\s+have)?\s+{_SOFTLY}shut\s+(?P<thing>{_THING})\s+down\b",
        rf"\b{_I}(?:'ve|\s+have)?\s+{_SOFTLY}(?:gave|given)\s+(?P<thing>{_THING})\s+(?:away|to\s+(?:a|an|my|our|the)\b)",
        rf"\b(?:no\s+longer|not\s+any\s?more)\s+(?P<thing>{_THING}){_END}",
        rf"\b(?:not|no|\w+n't)\s+(?P<thing>{_THING}),?\s+any\s?(?:more|longer)\b",
        rf"\bno\s+more\s+(?P<thing>{_THING})(?:\s+for\s+(?:me|us)\b)?{_END}",
        rf"(?P<thing>{_THING})\s+(?:is|are|was|were|has\s+been|have\s+been|got)\s+(?:now\s+)?(?:cancell?ed|called\s+off"
        rf"|scrapped|off|no\s+more|over|gone|history|discontinued)\b{_END}",
        rf"(?:不再|再也不)(?:需要)?(?P<thing>{_CHINESE_THING})(?=[，。；！？]|$)",
        r"(?P<thing>[^，。；！？]{0,20}?)(?:我们|我)?(?:已经|已|上周|昨天|今天|现在|最近|以后|今后|彻底)?"
        r"(?<!再也)(?P<doing>不(?![过错同仅只是会能得要行到了知太好对管论断久妨见])[\u4e00-\u9fff][^，。；！？]{0,15}?)了(?=[，。；！？]|$)",
        rf"(?:把|将)(?P<thing>{_CHINESE_THING})(?:都|全|已经|给)?{_CHINESE_GIVEN_UP}(?:掉)?了?(?=[，。；！？]|$)",
        rf"(?P<thing>[^，。；！？把将]{{1,20}}?)(?:我|我们)?(?:已经|已|刚|也|都|昨天|今天|上周)?(?:全|彻底)?(?:给|从[^，。]{{1,8}}里)?"
        rf"{_CHINESE_GIVEN_UP}(?:掉)?了(?=[，。；！？]|$)",
        rf"(?:^|[，。；]|我|我们)(?:已经|已|刚刚?|今天|昨天|上周|学期末|彻底)?{_CHINESE_GIVEN_UP}(?:掉)?了?(?P<thing>[^，。；！？了掉]{{1,20}}?)了?"
        r"(?=[，。；！？]|$)",
    )
)
_TAKEN_BACK = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_ASKED}{_FORGET}\s+{_WHAT_WAS_SAID}(?P<thing>{_THING})"
        rf"(?:\s+(?:from|off|out\s+of)\s+(?:my|the|your|our)\s+[\w\s-]{{1,40}}?|\s+(?:i|we)\s+(?:gave|told|sent)\s+you\b.*?)?{_END}",
        rf"\b{_I}\s+take\s+back\s+{_WHAT_WAS_SAID}(?P<thing>{_THING}){_END}",
        rf"\b(?:what\s+i\s+(?:said|told\s+you|wrote)|the\s+(?:bit|part|thing|info(?:rmation)?))\s+about\s+(?P<thing>{_THING})"
        r"\s+(?:was|is)\s+(?:all\s+)?(?:wrong|nonsense|outdated|out\s+of\s+date|incorrect|not\s+true)\b",
        rf"(?:请|麻烦|帮我|你可以|可以)?(?:把|将)(?P<thing>{_CHINESE_THING})(?:从[^，。]{{1,20}}?)?(?:删除|删掉|去掉|移除|划掉|忘掉|忘了|抹掉)",
        rf"(?:请|麻烦|帮我|你可以|^)(?:从[^，。]{{1,20}}?)?(?:删除|删掉|去掉|移除|划掉|忘掉|忘记|忽略)(?P<thing>{_CHINESE_THING})吧?(?=[，。；！？]|$)",
        r"(?:^|[，。；])(?P<thing>[^，。；！？]{2,20}?)(?:那句|那条|那话|这条|这句)(?:话)?(?:作废|不算数?|我?收回|当我没说)",
        r"(?:^|[，。；])(?P<thing>[^，。；]{2,30}?)(?:是?我|我们)?(?:之前|刚才|上次|那天)?(?:说|记|写|讲)错了",
    )
)
_MARKS = " \t\"'“”‘’「」《》()（）.,"
_ABOUT = re.compile(
    r"^(?:(?:我|我们)?(?:之前|刚才|上次|以前)?(?:跟你|对你|和你)?(?:说过?|提到?过?|讲过?|告诉你)的?)?(?:关于|有关)?"
)
_MATTER = re.compile(r"(?:的(?:事情?|信息|内容|记录|消息|话)|[这那](?:件事情?|[个套间])|那$)$")
_TRAILING = re.compile(
    r"(?:\s+(?:at\s+all|lately|now|either|for\s+good|for\s+(?:me|us)|completely|altogether|entirely|yesterday|today|recently"
    r"|this\s+\w+|last\s+\w+|(?:on\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:a|an|two|three|\d+)\s+\w+\s+ago"
    r"|in\s+(?:january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d)))+$",
    re.IGNORECASE,
)
# Matches phrases that only point back and name nothing.
_POINTS_BACK = re.compile(
    r"^(?:it|them|that|this|these|those|everything|anything|something|all|so|one|him|her|me|us)$"
    r"|^(?:his|her|their|its|that|this|these|those)\s+(?:one|thing|stuff)$",
    re.IGNORECASE,
)
_GENERAL = frozenset(
    terms(
        "some any something anything everything all information info detail thing item entry piece point part stuff lot bit"
        " one really actually just honestly quite very much always idea kind sort way feel like love enjoy prefer fan big"
        " need want plan going track list task back told said week day time"
    )
) | frozenset("我们你的了")
_CODE = re.compile(r"[{}<>\\]|\w\(|\(\)|\w\[|[=;|]\s*$|\s==?\s|^\s*[#@*|/]|::|`|\b[A-Z]{3,}\s+/|_\w+_")


@dataclass(frozen=True, slots=True)
class Ending:
    """An ending, with the `thing` quoted from the sentence; `request` means that the sentence asks to forget it.

    `verb` is the Chinese verb of an activity that has stopped ("不去学校了"); the earlier statement must contain it.
    """

    thing: str
    request: bool = False
    verb: str = ""

    @property
    def terms(self) -> frozenset[str]:
        """Index terms that an earlier statement of the thing is recognised by; empty for "it"."""
        return frozenset() if _POINTS_BACK.search(self.thing) else telling_terms(self.thing)


@lru_cache(maxsize=1024)
def find_endings(sentence: str) -> tuple[Ending, ...]:
    """Return what `sentence` ends or takes back; nothing if it asks, supposes, quotes or denies it."""
    plain = " ".join(sentence.replace("’", "'").replace("‘", "'").split())
    if _CODE.search(plain):
        return ()
    moods = find_moods(plain)
    asked = [Ending(thing, request=True) for rule in _TAKEN_BACK for thing, _ in _find_thing(rule, plain)]
    if asked:
        is_question = Mood.ASKS in moods and not plain.lower().startswith(("can", "could", "would", "will"))
        return () if is_question else tuple(asked[:1])
    if moods - {Mood.RECALLS, Mood.ADDRESSES}:
        return ()
    found = dict.fromkeys(one for rule in _ENDED for one in _find_thing(rule, plain))
    return tuple(Ending(thing, verb=verb) for thing, verb in found)


def _find_thing(rule: re.Pattern[str], plain: str) -> list[tuple[str, str]]:
    """Return the thing that the rule matches and its Chinese verb ("" if none), as a list of at most one pair."""
    match = rule.search(plain)
    if match is None:
        return []
    doing = (match.groupdict().get("doing") or "").removeprefix("不")
    thing = match["thing"] or doing
    if doing and match["thing"]:
        thing += doing[1:]
    bare = _TRAILING.sub("", thing.strip(_MARKS)).strip(_MARKS)
    bare = _MATTER.sub("", _ABOUT.sub("", bare)) or bare
    return [(bare, doing[:1])] if len(bare) > bool(doing) else []


def telling_terms(text: str) -> frozenset[str]:
    """Return the index terms of `text` without general words and Chinese function words."""
    found = frozenset(terms(text)) - _GENERAL
    pairs = {term for term in found if len(term) > 1 and is_cjk(term[0]) and FUNCTION_CHARACTERS.isdisjoint(term)}
    # A single Chinese character adds little to the words that contain it.
    single = {term for term in found if len(term) == 1 and is_cjk(term)}
    latin = {term for term in found if not is_cjk(term[0])}
    return frozenset(latin | pairs | (single if not pairs and not latin else set()))
