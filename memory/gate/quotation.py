"""Recognises quotations around a span of a text."""

from __future__ import annotations

import re

_QUOTES = {'"': '"', "“": "”", "「": "」", "『": "』", "`": "`", "《": "》", "'": "'", "‘": "’"}
# Maximum distance before a span where its quotation may open, and after it where it may close.
BEFORE, BEHIND = 80, 160

# Matches what introduces quoted words: "the mail began with “…", 邮件写着“….
_HOLDER = re.compile(
    r"\b(?:comment|e?-?mail|pdf|file|page|letter|message|sms|post|note|flyer|banner|slide|ticket|review|advert|caption"
    r"|subject|sign|popup|website|invitation|cv|screenshot)\b[^.!?\n\"“'‘]{0,50}?\b(?:was|were|began|begins|starts?|started|opened"
    r"|ended|went|ran|saying|reading|titled|with|read|said)\b[^.!?\n\"“'‘]{0,20}$"
    r"|(?:评论|邮件|短信|网页|页面|帖子|标题|文件|pdf|来信|信里|幻灯片|横幅|广告|备注|签名|截图|简历|弹窗|留言)[^。！？\n“「]{0,12}"
    r"(?:是|为|写|说|叫|着|：|:)[^。！？\n“「]{0,4}$"
)


def is_told_of(text: str, start: int, end: int) -> bool:
    """Tell whether the span is quoted from a mail, a page or the like that the sentence before the quotation names."""
    before = text[max(0, start - BEFORE) : start]
    opened = max(before.rfind(mark) for mark in _QUOTES)
    return opened >= 0 and is_quoted(text, start, end) and _HOLDER.search(before[:opened]) is not None


def is_quoted(text: str, start: int, end: int) -> bool:
    """Tell whether a quotation opens shortly before the span and closes shortly after it."""
    before = text[max(0, start - BEFORE) : start + 1]
    behind = text[end - 1 : end + BEHIND]
    return any(
        close in behind and (before.count(mark) % 2 == 1 if mark == close else before.rfind(mark) > before.rfind(close))
        for mark, close in _QUOTES.items()
    )
