"""Patterns for sentences that don't say what their speaker wants: suppositions, hearsay, quotes, the past, one-offs.

The rules for stated preferences and those for choices share them. Text is matched in lower case.
"""

from __future__ import annotations

import re

# Marks a turn as a text to work on or a part to play, which says nothing about its speaker.
MATERIAL = re.compile(
    r"\b(?:translat\w*|rewrit\w*|rephras\w*|paraphras\w*|proofread\w*|grammar|spelling|punctuat\w*|summari[sz]e|role.?play(?! games?| elements?|ing games?|ing$|ing[.,])\w*"
    r"|pretend\w*|imagine|hypothetical\w*|act(?:ing)? as|you are an?|lyrics|poem|screenplay|monologue"
    r"|(?:my|a|the) (?:novel|story|character|script)|character (?:who|named|says|in)|persona|subject line|fill in"
    r"|write (?:me )?(?:an?|the|about)|draft (?:an?|the)|(?:this|following|sample|example) sentence|in the (?:film|movie|book|song|story|show|play))\b"
    r"|翻译|改写|润色|造句|例句|扮演|假装|角色|台词|歌词|剧本|作文|写一[篇封首段个]|写个|语法|这句话|这段话|小说里|电影里|书里|剧里",
    re.IGNORECASE,
)
SUPPOSED = re.compile(
    r"\b(?:if|suppose|supposing|assuming|unless|let's say|were i|wish\w*|maybe|perhaps|possibly|probably|might|could|hope|hoping"
    r"|wonder\w*|dream\w*|whether|as though|as if|what if|say that|kidding|joking|joke|sarcas\w*|guess|suspect)\b"
    r"|如果|要是|假如|假设|万一|要不是|也许|可能|大概|或许|说不定|好像|似乎|但愿|希望|想象|梦|是否|开玩笑|逗你|骗你|才怪"
)
# Unlike the others, these also take back what precedes them.
UNSURE = re.compile(
    r"\b(?:maybe|perhaps|probably|kidding|joking|joke|sarcas\w*|i guess|i suppose|in a dream)\b"
    r"|要不是|也许|大概|或许|说不定|开玩笑|逗你|骗你|才怪|梦"
)
HEARSAY = re.compile(
    r"\b(?:says?|said|tells?|told|claims?|claimed|thinks?|thought|believes|assumes?|assumed|asks?|asked|wrote|writes"
    r"|heard|according to|insists? that|pretends?|used to|accus\w*|quot\w*|reads?:|signed|posted|commented|texted)\b"
    r"|他说|她说|他们说|她们说|人说|妈说|爸说|说过|听说|据说|告诉|问我|说我|以为|认为我|觉得我|传言|名言|常说|写道|写着"
)
ONCE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|this (?:time|once|morning|evening|afternoon|week|weekend|month|year)|right now"
    r"|at the moment|for now|just now|last (?:night|week|month|year|time)|(?:a|two|three|few|some) (?:days?|weeks?|months?|years?) ago"
    r"|for once|later|not yet|anymore than|until (?:i|we|my|the|next)|while i'm)\b"
    r"|今天|今晚|今早|明天|昨天|昨晚|这次|这回|这周|本周|上次|上周|刚才|刚刚|暂时|待会|等会|一会|先不|眼下|这几天|去年"
)
OVER = re.compile(
    r"\b(?:used to|previously|formerly|back then|back when|when i was|as a (?:kid|child|student|teenager)|in the past|in my (?:childhood|youth|twenties)"
    r"|once upon|at first|not any ?more|any ?more|any longer)\b"
    r"|以前|之前|曾经?|原来|原先|本来|小时候|过去|当时|那时候?|当年|从前|上(?:大学|高中|初中|小学|学)(?:的时候|时)|年轻时"
)
NO_MORE = re.compile(r"\b(?:any ?more|any longer)\b")
SOMETHING = re.compile(
    r"(?:it|this|that|these|those|them|him|her|you|us|me|one|ones|there|so|the (?:first|second|third|last|other|former"
    r"|latter|way|fact|one|new|option|(?:idea|sound|look|thought)(?! of (?!that|it|this)))|what|how|where|who|why|option \w|my|your|his|our|their|and|or|but|when i was)\b"
    r"|[这那它你您他她该此]|我的|我们|的(?:[人书歌]|是)|上一个|前者|后者|第[一二三]"
)
OF_OTHERS = re.compile(r"\b(?:this|these|another|you|your|yours|he|she|his|hers|they)\b|[你您他她]")
# People who say what "the user" likes don't speak of themselves.
OF_USERS = re.compile(
    r"\b(?:the|all|every|each|any|other|another|this|that) (?:other )?users?\b|(?:所有|每个|全部|其他|这个|该)用户",
    re.IGNORECASE,
)
JEST = re.compile(
    r"\b(?:yeah,? right|as if|not!|just love (?:waiting|being|getting|when|how)|oh,? (?:great|wonderful|perfect)|jk|(?:just |only )?(?:kidding|joking))\b|\s/s\b|🙄|😏|才怪|开玩笑|逗你|骗你",
    re.IGNORECASE,
)
QUOTE = re.compile(r"[\"“”「」『』«»„]|(?<!\w)['‘](?=\w)(?=[^'’]*['’](?!\w))")


def is_material(text: str, *, most_chars: int) -> bool:
    """Tell whether a turn is a text to work on, a part to play, a joke, or longer than `most_chars`."""
    return len(text) > most_chars or MATERIAL.search(text) is not None or JEST.search(text) is not None
