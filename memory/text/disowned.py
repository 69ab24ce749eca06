"""Finds claims that their speaker takes back ("That was not me. I am not allergic to anything."), also in Chinese.

It takes two sentences of one turn: one that disowns what was said, and one that denies the claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.text.moods import find_moods

_LEAD = r"^\W*(?:(?:no|wait|sorry|hold\s+on|hey|actually|oh|well|hm+)\W+)*"
_IT = r"(?:that|this|it)"
_NOT = r"(?:'s\s+not|\s+(?:was|is)\s+not|\s+(?:was|is)n't)"
_DISOWNS = re.compile(
    rf"{_LEAD}(?:"
    rf"{_IT}{_NOT}\s+me(?:\s+(?:who|that)\s+(?:said|wrote|told\s+you|typed)\s+{_IT})?(?:\s+at\s+all)?"
    rf"|i\s+(?:never|did\s+not|didn't)\s+(?:say|said|write|wrote|type|typed)\s+(?:{_IT}|so|such\s+a\s+thing)"
    rf"|{_IT}{_NOT}\s+(?:true|right|correct)(?:\s+(?:at\s+all|about\s+me))?"
    rf"|{_IT}(?:'s|\s+(?:was|is))\s+(?:just\s+|all\s+|simply\s+)?(?:wrong|false|untrue|incorrect|a\s+mistake|a\s+mix-?up)(?:\s+about\s+me)?"
    rf"|(?:someone|somebody)\s+else\s+(?:said|wrote|typed)\s+{_IT}"
    r")\W*$"
    r"|^\W*(?:不对?\W+|等等\W+)*(?:[那这]?(?:并)?不是我(?:说|写|讲)?的?|我(?:从来)?没有?(?:这么|这样|那么)?(?:说|写)过?(?:[这那](?:话|句话|些))?"
    r"|[那这](?:话|句话)?(?:是(?:别人|他人)(?:说|写)的|不是真的|不对|是错的|弄错了))\W*$",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"^\W*(?:(?:and|but|so|actually|in\s+fact)\W+)?i(?:\s+am\s+not|'m\s+not|\s+do\s+not|\s+don't|\s+have\s+no)\s+"
    r"(?P<english>[^,;:!?.]{2,80})\W*$"
    r"|^\W*我(?:其实|根本)?(?:对(?:什么|任何东西?|啥)都)?(?:并)?(?:不|没有(?:任何)?)(?P<chinese>[^，。；：！？]{1,20})\W*$",
    re.IGNORECASE,
)


# Places, and what holds only for now, say nothing about where people live or what else they do.
_PASSING = re.compile(
    r"^(?:in|at|on)\b|\b(?:today|tonight|tomorrow|yesterday|now|right\s+now|currently|yet|(?:this|next|last)\s+\w+)\b"
    r"|^在|今天|今晚|明天|昨天|现在|目前|[这上下]个?(?:周|星期|月)|今年|明年|去年",
    re.IGNORECASE,
)


def disowns(sentences: Iterable[str]) -> bool:
    """Tell whether one of the sentences disowns or takes back what was said."""
    return any(_DISOWNS.search(_even_out(sentence)) for sentence in sentences)


def find_denied_claim(sentence: str) -> str | None:
    """Return what the speaker denies being or having, quoted from the sentence; None if nothing, or only for now."""
    plain = _even_out(sentence)
    denial = None if find_moods(plain) else _DENIES.search(plain)
    claim = (denial["english"] or denial["chinese"]).strip() if denial else None
    return None if claim is None or _PASSING.search(claim) else claim


def _even_out(sentence: str) -> str:
    return " ".join(sentence.replace("’", "'").split())
