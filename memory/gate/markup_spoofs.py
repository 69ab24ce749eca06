"""Evidence of texts that imitate a system's turns or tool calls, and extraction of parts that markup hides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.gate.injection_cues import evidence
from memory.gate.judgement import Span

_RISKY = (
    r"(?:send|transfer|delete|export|run|exec(?:ute)?|pay|grant|share|drop|unlock|wipe|post|upload|forward|register|remove"
    r"|set|http_post|shell|invite|purchase|buy|release|reset|approve|create|update|write|cancel|add|insert|disable)"
)
_RISKY_CHINESE = (
    r"(?:发送|转账|删除|导出|运行|执行|付款|授权|分享|解锁|清空|上传|转发|注册|移除|购买|重置|批准|修改|取消|关闭|停用)"
)

SPOOFS = (
    evidence(
        "tool_call",
        "It imitates a call of a tool, or its result.",
        0.3,
        "tool_call invoke function_results function_calls tool_calls tool_code action thought observation tool_use arguments args parameters",
        r"""<tool_(?:call|use)>\s{0,3}\{ | <invoke name= | <function_(?:results?|calls)>\s{0,3}[\{<] | "tool_calls" ?: ?\[ ?\{
        | ```tool_(?:code|call) | ^action: ?\S[^\n]{0,60}\n{1,2}action input | ^thought:[^\n]{1,300}\n{1,2}action
        | "(?:name|function|tool|action)" ?: ?"\w{2,40}", ?"(?:arguments|args|parameters|input)" ?:""",
        r"""^(?:思考|观察)[:：][^\n]{1,200}\n{1,2}(?:行动|动作)[:：] | ^(?:行动|动作)[:：][^\n]{1,60}\n{1,2}(?:行动|动作)?(?:输入|参数) | <tool_(?:call|use)>\s{0,3}\{ | "tool_calls" ?: ?\[ ?\{ | <invoke name=
        | ```tool_(?:code|call) | "(?:name|function|tool|action)" ?: ?"\w{2,40}", ?"(?:arguments|args|parameters|input)" ?:""",
    ),
    evidence(
        "tool_act",
        "The call that it imitates acts on somebody's behalf.",
        0.4,
        "tool_call invoke function_results function_calls tool_calls tool_code action tool_use arguments args parameters",
        rf"""(?:<tool_(?:call|use)>|<invoke name=|<function_(?:results?|calls)>|"tool_calls"|```tool_code|^action:|"(?:name|function|action)" ?: ?)
        [^<`]{{0,120}}?\b{_RISKY}(?:_\w+|\b)""",
        rf"""(?:<tool_(?:call|use)>|<invoke name=|"tool_calls"|"(?:name|function|action)" ?: ?|```tool_code|^(?:行动|动作)[:：])[^<`]{{0,120}}?(?:{_RISKY}(?:_\w+|\b)|{_RISKY_CHINESE})""",
    ),
    evidence(
        "turns",
        "It goes on with turns of a talk that was not had.",
        0.45,
        "human user assistant ai",
        r"""\n\s{0,3}(?:human|user)\s?:\s{0,3}(?:please |now |ok,? |list all )?(?:delete|passwords?|transfer|send|reveal|wipe|pay|approve|export|grant|forward
        |secret|unlock|disable)\b[^\n]{0,100}\n{1,3}\s{0,3}(?:assistant|ai)\s?:""",
        r"""\n\s{0,3}(?:用户|人类)\s?[:：][^\n]{0,60}?(?:删除|密码|转账|发送|列出|公开|批准|导出|授权|转发|机密|关闭)[^\n]{0,60}\n{1,3}
        \s{0,3}(?:助手|ai)\s?[:：]""",
    ),
    evidence(
        "boundary",
        "It marks an end of what the user says, or a beginning of what the system says.",
        0.4,
        "end begin system",
        r"""^\W{0,6}(?:end of (?:user|human) (?:input|message|turn)|(?:begin|start)(?: of)? (?:system|developer|admin) (?:instructions?|prompt
        |message|turn))\b | </(?:user|human|untrusted)\w*>\s{0,2}<(?:system|assistant|developer)""",
        r"""^\W{0,6}用户(?:输入|消息)结束 | ^\W{0,6}系统(?:指令|提示词?|消息)开始""",
    ),
)

# Parts that a reader of the page doesn't see.
_UNSEEN = re.compile(
    r"<!--(?P<comment>[^\n]{3,1500}?)-->|\[//\]: ?# ?[(\"](?P<link>[^\n]{3,1500}?)[)\"]|\{#(?P<template>[^\n]{3,1500}?)#\}"
    r"|<(?P<tag>span|div|p|font|td|li|details|a|b|i|small|section)\b(?P<style>[^>\n]{0,300})>(?P<inner>[^\n]{3,1500}?)</(?P=tag)>",
    re.IGNORECASE,
)
_HIDING = re.compile(
    r"display: ?none|\bhidden\b|font-size: ?0|color: ?(?:white|#fff\w*|transparent)|color=[\"']?(?:white|#fff)|opacity: ?0"
    r"|visibility: ?hidden|aria-hidden|left: ?-\d{3,}|height: ?0",
    re.IGNORECASE,
)


def unseen_parts(text: str) -> Iterator[tuple[str, Span, bool]]:
    """Yield each part of `text` that markup hides, its place, and whether styling hides it.

    Styled-away text is not for people, whereas a comment may be.
    """
    if "<" not in text and "{#" not in text and "[//]" not in text:
        return
    for match in _UNSEEN.finditer(text):
        style = match["style"]
        if style is not None and not _HIDING.search(style) and match["tag"].lower() != "details":
            continue
        group = next(name for name in ("comment", "link", "template", "inner") if match[name] is not None)
        styled = style is not None and _HIDING.search(style) is not None
        yield match[group], match.span(group), styled
