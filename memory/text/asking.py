"""Recognises by words what kind of answer a question wants, in English and Chinese."""

from __future__ import annotations

import re

from memory.text.analysis import terms

# Index terms of texts that say when something happened.
DATED_TERMS = sorted(
    {
        *terms(
            "yesterday today tomorrow tonight last next ago week month year monday tuesday wednesday thursday friday "
            "saturday sunday january february march april june july august september october november december "
            "recently morning weekend"
        ),
        *(
            "昨天",
            "今天",
            "明天",
            "前天",
            "后天",
            "上周",
            "下周",
            "上月",
            "个月",
            "去年",
            "今年",
            "明年",
            "周末",
            "昨晚",
        ),
    }
)

_RECENT = re.compile(
    r"\b(latest|newest|most recent(ly)?|last time|current(ly)?|now|at the moment|nowadays|these days|up.to.date)\b"
    r"|最近|最新|目前|现在|如今|上一次|上次",
    re.IGNORECASE,
)
# Requests for a list, but not questions about one ("what's on my shopping list?"); "every" of things, not of days.
_MANY = re.compile(
    r"(^\W*list\b|\blist(?= (all|the|every|everything|each|my|our|your|of|out|some|any|what|which|me|up)\b)"
    r"|\b(enumerate|summari[sz]e|summary|overview|recap|all (the|of|my|our)|everything"
    r"|what (are|were) (all|the different)"
    r"|every(?! (single )?(day|week|month|year|morning|evening|night|hour|time|other)\b)"
    r"|how many|in what order|chronological(ly)?|timeline|walk me through)\b)"
    r"|哪些|所有|全部|总结|概括|列出|列举|回顾|汇总|多少个",
    re.IGNORECASE,
)
# Questions about the agent's earlier words, but not requests to say something now ("can you tell me", "please tell
# me", 请你告诉我).
_FROM_AGENT = re.compile(
    r"\b(?:did|have|had) you (?:\w+ )?(?:say|said|tell|told|suggest|recommend|mention|propose|advise|explain|answer"
    r"|provide|give|given|write|written)\w*\b"
    r"|\byou(?:'ve|'d| have| had)? (?:\w+ )?(?:said|told|suggested|recommended|mentioned|proposed|advised|explained"
    r"|answered|provided|gave|given|wrote|listed|described)\b"
    r"|\byour (?:last |previous |earlier )?(?:suggestion|recommendation|advice|answer|reply|explanation)s?\b"
    r"|\bthe assistant\b"
    r"|(?<!请)你(?:之前|上次|曾|刚才|刚刚)?(?:(?:给|跟|对|向)我)?(?:说[过的了]|提到|建议|推荐|告诉|回答|解释|列出)",
    re.IGNORECASE,
)


def asks_for_recent(text: str) -> bool:
    """Tell whether the question wants the newest of several answers."""
    return _RECENT.search(text) is not None


def asks_for_many(text: str) -> bool:
    """Tell whether the question wants a list or a summary: many different memories rather than the best one."""
    return _MANY.search(text) is not None


def asks_agent(text: str) -> bool:
    """Tell whether the question is about the agent's own words."""
    return _FROM_AGENT.search(text) is not None
