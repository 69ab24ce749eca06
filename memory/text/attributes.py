"""What a clause says of its holder by one of the attributes that people have one of at a time: where they live and work,
what they are, whom they are with; and where a thing is. By closed lists of verbs and nouns, English and Chinese.

An attribute is held, begun or ended. A value that begins ends the one before, and so does an end without a new value
(Rahm and Do 2000, "Data Cleaning: Problems and Current Approaches", call such attributes functional dependencies).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_TO_END = r"(?P<v>[^,;.!?，。；！？]{1,60})"
_ROLE = (
    r"(?P<v>(?:(?:junior|senior|head|lead|chief|assistant|deputy|vice|shift|team|plant|product|project|sales|store|software|data|staff|night|high school|primary school)\s)*"
    r"(?:[a-z-]+\s){0,2}[a-z-]*(?:er|or|ist|ant|ian|yst|nurse|chef|clerk|cook|coach|head|lead|legal|partner|director|officer|president|apprentice|intern|student|trainee|surgeon|pilot|guard|ceo|cto|cfo)"
    r"(?:\s(?:of|for)\s[\w ]{2,30})?)"
)
_DIET = r"(?P<v>vegan|vegetarian|pescatarian|flexitarian|carnivore|keto|gluten[- ]free|lactose[- ]free|sober|teetotal)"
_ZH_ROLE = r"(?P<v>[^，。；！？是当做]{0,8}(?:师|员|经理|总监|医生|老师|主管|组长|店长|司机|护士|律师|会计|主任|校长|院长|科长|处长|部长|教授|助理|实习生|学徒|学生|负责人|合伙人|C[ETF]O))"
# Attribute: how it is held, begun, ended. A pattern without a value is found without one.
_FORMS: dict[str, tuple[str, str, str]] = {
    "lives": (
        rf"\b(?:live|lives|living|reside|resides|residing|based|staying)\s(?:in|at)\s{_TO_END}"
        rf"|\b(?:home|place|flat|apartment|house)(?:'s|\sis|\sare)\s(?:now\s)?(?:in|at|on|near)\s{_TO_END.replace('<v>', '<v2>')}"
        r"|(?<!搬来)(?<!不)住在?(?!院|宿|址|处)(?P<v3>[^，。；！？]{1,20})|家在(?P<v4>[^，。；！？]{1,20})|定居(?P<v5>[^，。；！？]{1,20})",
        rf"\b(?:moved|relocated|moving)\s(?:back\s|over\s|in\s|house\s|out\s|down\s|up\s)?(?:to|into|in with)\s{_TO_END}"
        r"|搬(?:到|去|回|进)了?(?P<v2>[^，。；！？]{1,20})",
        r"\b(?:i|we|he|she|they|[A-Z][a-z]+)(?:'ve|'s|\shave|\shas)?\s(?:just\s|recently\s|finally\s)?moved(?:\s(?:house|out|away|again|home|recently|last \w+))*\s*$|\bmoved (?:out|away)\b"
        r"|搬走|搬家了|搬了家|搬出",
    ),
    "works": (
        rf"\b(?:work|works|working|employed|job)\s(?:full[- ]time\s|part[- ]time\s|as [a-z ]{{2,30}}\s)?(?:at|for)\s(?!home\b|night\b|the moment\b|a living\b|my\b|myself\b){_TO_END}"
        r"|在(?P<v2>[^，。；！？]{1,20}?)(?:上班|工作|任职|当差|干活|打工|就职)|就职于(?P<v3>[^，。；！？]{1,20})",
        rf"\b(?:joined|joining|hired by|started (?:working )?(?:at|for|with)|(?:new )?job (?:at|with|is at))\s{_TO_END}"
        r"|(?:入职|跳槽[到去]|加入|去)了?(?P<v2>[^，。；！？]{1,20}?)(?:了|报到|上班|工作)(?=[，。！]|$)|(?:入职|跳槽[到去])了?(?P<v3>[^，。；！？]{1,20})",
        r"\b(?:quit|resigned|retired|retires)\b(?!\s(?:smoking|drinking|the gym|playing|coffee|sugar|instagram|facebook))|\b(?:got|was|were|been) (?:fired|laid off|let go|made redundant)\b"
        r"|\b(?:left|lost) (?:my|his|her|the|their) (?:job|company|firm)\b|\bhanded in (?:my|his|her) notice\b|辞职|离职|退休|被裁|失业|不干了",
    ),
    "role": (
        rf"\b(?:work|works|working)\sas\s(?:an?\s|the\s|our\s)?{_ROLE.replace('<v>', '<v>')}|\b(?:'m|am|is|'s)\s(?:an?|the|our|my)\s{_ROLE.replace('<v>', '<v2>')}(?=\s(?:at|in|for|with)\b|[,.;!]|$)"
        rf"|\b(?:job title|position|role)\sis\s(?:an?\s|the\s)?{_TO_END.replace('<v>', '<v3>')}"
        rf"|(?:是|当|担任|做)(?:一名|一个|个|位|我们的?)?{_ZH_ROLE.replace('<v>', '<v4>')}",
        rf"\bpromoted to\s(?:the\s)?{_TO_END}|\b(?:became|become)\s(?:an?\s|the\s|our\s)?{_ROLE.replace('<v>', '<v2>')}|\b(?:is|am|'m|'s)\s(?:the\s|our\s|an?\s)?(?:new\s)?{_ROLE.replace('<v>', '<v3>')}\snow\b"
        rf"|\bnow\s(?:an?\s|the\s|our\s){_ROLE.replace('<v>', '<v4>')}|(?:升[职任为到]?[为到成]?了?|当上了?|转岗[做到]?|晋升为?|成了|提拔为){_ZH_ROLE.replace('<v>', '<v5>')}",
        r"\b(?:got|was|been) promoted\b|\bchanged careers\b|升职|转行",
    ),
    "partner": (
        rf"\b(?:dating|married to|engaged to|seeing|going out with|in a relationship with)\s{_TO_END}|\b(?P<v2>single|married|engaged)\b|(?P<v3>单身|已婚|未婚)|[和跟](?P<v4>[^，。；！？]{{1,10}})(?:在一起|谈恋爱|交往|处对象)",
        r"\b(?:got|are|is|am) (?:now )?(?P<v>engaged|married)\b|(?P<v2>订婚|结婚|领证)了",
        r"\b(?:broke up|split up|divorced|separated|got a divorce|called off (?:the|their|our) (?:engagement|wedding))\b|分手|离婚|离了",
    ),
    "diet": (
        rf"\b(?:'m|am|is|'s|are|been|gone|went)\s(?:an?\s)?(?:strict\s)?{_DIET}\b|(?P<v2>吃素|素食)",
        r"(?!)",
        rf"\b(?:stopped|quit|gave up|given up|not|no longer|isn't|done) (?:being\s|going\s)?(?:an?\s)?{_DIET}\b|\beat(?:s|ing)? (?:meat|chicken|fish|everything|steak)[^,;.]* again\b|(?:开始|又)吃(?:肉|荤)|不吃素",
    ),
    "pregnant": (r"\b(?:pregnant|expecting)\b|怀孕|有喜", r"(?!)", r"\b(?:gave birth|(?:had|have|has had) (?:the|her|our|a|their) (?:baby|boy|girl|son|daughter)|(?:baby|boy|girl) (?:is here|was born|arrived))\b|(?<!先)(?<!学)生了|出生了"),
    "drives": (
        rf"\b(?:drive|drives|driving)\s(?:an?\s)(?![^,;.]*\bto\b){_TO_END}|开的?(?:是)?(?:一?[辆台])(?P<v2>[^，。；！？]{{1,15}})|\bcar is (?:an?\s)?(?P<v3>[^,;.!?]{{1,40}})",
        r"(?!)",
        r"\b(?:sold|scrapped|totalled|wrecked|traded in) (?:the|my|our|her|his|that) (?:car|van|truck)\b|车(?:子)?(?:已经|也|刚)?(?:卖|报废)了|卖了?车|把车卖",
    ),
    "studies": (
        rf"\b(?:study|studies|studying|go|goes|going)\s(?:at|to)\s(?P<v>[^,;.!?]{{1,40}}(?:university|college|school|academy)[^,;.!?]{{0,20}})|\bstud(?:y|ies|ying)\s{_TO_END.replace('<v>', '<v2>')}|在(?P<v3>[^，。；！？]{{1,12}})(?:读书|上学|念书|读(?:大学|研|博|高中|初中|小学))",
        r"\btransferred to\s(?P<v>[^,;.!?]{1,60})|转学[到去](?P<v2>[^，。；！？]{1,12})",
        r"\b(?:graduated|dropped out|finished (?:school|university|college))\b|毕业|退学",
    ),
    "where": (
        rf"\b(?:is|are|'s|sits|stands|lives|hangs|located|kept|held|parked|stored)\s(?:now\s)?(?:in|on|at|by|near|next to|behind|under|above|opposite|across from|beside|outside|inside)\s{_TO_END}"
        r"|(?:放|摆|停|挂|存|位|设)?(?<![现正存])在(?!线)(?P<v2>[^，。；！？]{1,20})",
        rf"\b(?:moved|relocated|transferred|put|brought)\b[^,;.!?]*?\s(?:to|into|in|on|onto|under|next to|behind|beside)\s{_TO_END}|(?:搬|挪|移|转)(?:到|去|进|至)了?(?P<v2>[^，。；！？]{{1,20}})|(?:改|换|定|放|挪)[在到](?P<v3>[^，。；！？]{{1,20}})",
        r"(?!)",
    ),
}  # fmt: skip
_FIND = {name: tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns) for name, patterns in _FORMS.items()}
# When it changed is no part of the value.
_WHEN = re.compile(
    r"\s(?:now|since|yesterday|today|last (?:week|month|night|\w+day)|this (?:week|month|morning)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:january|february|march|april|may|june"
    r"|july|august|september|october|november|december)|these days|at the moment|currently|again|instead|as of|for now|after all)\b.*$|(?:上班|工作|干活|[举]?办|召开)?[了啦]?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value`: words at [start, end) of the clause; "" where something only ends. `begins`: it is new; `ends`: over."""

    name: str
    value: str
    start: int
    end: int
    begins: bool = False
    ends: bool = False


@lru_cache(maxsize=1024)
def attributes(clause: str) -> tuple[Attribute, ...]:
    """The attributes that `clause` speaks of, each once: what ends before what begins before what is held."""
    found: dict[str, Attribute] = {}
    for name, (held, begun, ended) in _FIND.items():
        end, start, state = ended.search(clause), begun.search(clause), held.search(clause)
        if start is not None:
            found[name] = _attribute(name, start, begins=True)
        elif end is not None:
            found[name] = Attribute(name, "", *end.span(), ends=True)
        elif state is not None:
            found[name] = _attribute(name, state)
    if "lives" in found and "where" in found:
        del found["where"]
    return tuple(found.values())


def _attribute(name: str, match: re.Match[str], *, begins: bool = False) -> Attribute:
    group = next((key for key, value in match.groupdict().items() if value), None)
    if group is None:
        return Attribute(name, "", *match.span(), begins=begins)
    value = _WHEN.sub("", match.group(group)).strip(" .,!?。，！？")
    start = match.start(group)
    return Attribute(name, value.lower(), start, start + len(value), begins=begins)
