"""English and Chinese evidence of attempts to steer the assistant that reads a text.

The patterns are matched in lower case, without hidden characters (`hidden.unveil`). `words` are looked up first:
without one of them the English pattern can't match, and isn't tried. Distances are bounded, so that the time is linear.
The kinds follow Greshake et al. 2023, "Not what you've signed up for".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.gate.patterns import one_line


class Evidence(NamedTuple):
    """A kind of evidence; `weight` (0..1) is the probability that a text with this kind alone is an attack."""

    rule: str
    says: str
    weight: float
    words: frozenset[str]
    english: re.Pattern[str]
    chinese: re.Pattern[str] | None


def evidence(  # noqa: PLR0917 - the columns of a table
    rule: str, says: str, weight: float, words: str, english: str, chinese: str = ""
) -> Evidence:
    return Evidence(
        f"injection.{rule}",
        says,
        weight,
        frozenset(words.split()),
        re.compile(one_line(english), re.MULTILINE),
        re.compile(one_line(chinese), re.MULTILINE) if chinese else None,
    )


# Matches where a sentence or a clause that gives the reader an order can start.
ORDER = (
    r"(?:^[ \t>*\-#\d.)]{0,8}|[.!?;:,\n\"'(\]】] ?"
    r"|\b(?:please|and|then|you (?:must|should|shall|will|have to|need to|are to)"
    r"|(?:told|instructed|configured|remember|sure) to) )"
)
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|existing|original|initial|foregoing|past|system|safety|security|core"
    r"|built-in|default|current|former|aforementioned)"
)
_COMMANDS = (
    r"(?:instructions?|prompts?|rules|guidelines|directives?|programming|constraints|restrictions|commands|policies"
    r"|safeguards|guardrails|orders|training|directions)"
)

INJECTION = (
    evidence(
        "override",
        "It tells the reader to ignore the instructions it was given.",
        0.85,
        "ignore disregard forget override bypass discard overrule circumvent follow following neglect ignoring obey",
        rf"""\b(?:ignore|(?:start|begin|keep) ignoring|disregard|forget|override|bypass|discard|overrule|circumvent|neglect|(?:do not
        |don't|stop|never) (?:follow|following|obey))
        (?: about| all| any| every| everything| each| of| your| the| these| those| this| in| and| or){{0,5}}
        (?: {_EARLIER}){{1,3}}(?: \w{{3,12}}){{0,2}} {_COMMANDS}\b
        |\b(?:ignore|(?:start|begin|keep) ignoring|disregard|forget|override|bypass|discard|circumvent|(?:do not|don't|stop
        |never) (?:follow|following|obey|obeying)) (?:(?:all|any|every|each)(?: of)?(?: the| these| those| your)?
        |(?:all |of )?your)
        (?: \w{{3,12}})? {_COMMANDS}\b
        |\b(?:ignore|disregard|forget) (?:everything|all|anything)(?: that)?(?: (?:was|is|has been))? (?:you (?:were
        |have been) (?:told|given|instructed|taught)|(?:written |said )?above|before this)\b
        | \b(?:ignore|disregard|forget) (?:all |everything )?(?:of )?(?:the )?(?:above|previous
        |preceding)\b[^.!?\n]{{0,20}}?
        \b(?:instead|and (?:then |just )?(?:tell|say|output|write|print|reply|respond|answer|reveal|follow))\b""",
        r"""(?:忽略|无视|忘记|忘掉|忽视|抛开|不要理会|不必理会|不要管|不要遵守|不要遵循|停止遵守|绕过|跳过|丢弃|覆盖
        |推翻|解除)掉?[^，。！？\n]{0,6}?
        (?:之前|以前|以上|前面|先前|此前|上述|上面|所有|所有的|一切|全部|系统|原有|原来|原先|既定|内置|安全|任何
        |预设|被赋予)[^，。！？\n]{0,8}?(?:指令|指示|提示词|(?<!密码)提示(?!音)|规则|设定|限制|约束|命令|准则
        |安全策略|系统提示|训练)""",
    ),
    evidence(
        "persona",
        "It gives the reader a role without limits.",
        0.75,
        """dan jailbroken jailbreak unrestricted unfiltered uncensored restrictions rules limits filters
        guidelines ethics ethical limitations mode anything""",
        r"""\byou are (?:now |no longer )(?:\w+ ){0,4}?(?:dan|jailbroken|unrestricted|unfiltered|uncensored|evil
        |(?:developer|debug|god|sudo|admin|root|maintenance) mode|bound by)\b
        | \byou (?:are|can|will|have|must)\b[^.!?\n]{0,60}? (?:not|never|no longer) (?:bound|restricted|limited
        |constrained) by (?:any |all |the |your )?(?:rules
        |guidelines|restrictions|policies|ethics|filters|limits)\b | \b(?:you|that|who|which) can do anything now\b
        | \b(?:act|pretend|behave|respond|answer|operate|roleplay)\b(?: \w+){0,8}? (?:without|no|free of|free from
        |unbound by|not bound by)(?: any| all| ethical| your| safety| content){0,3}
        [ ](?:restrictions|rules|limits|limitations|filters|guidelines|ethics|policies)\b
        | \b(?:developer|debug|god|sudo|admin|dan|jailbreak|root|unrestricted) mode (?:is )?(?:now )?(?:enabled
        |activated|engaged|unlocked)\b
        | \b(?:enter|switch to|enable|activate) (?:dan|jailbreak|god|sudo|unrestricted|unfiltered) mode\b""",
        r"""你(?:现在|从现在起|已经|将|是)[^，。！？\n]{0,10}(?:没有|不受|不再受|摆脱|解除)[^，。！？\n]{0,6}(?:限制
        |约束|审查|规则|束缚)
        | (?:进入|开启|启用|激活|切换到?)[^，。！？\n]{0,4}(?:越狱|上帝|DAN|dan|无限制|无审查)模式 | (?:扮演|假装
        |假设你是)[^。！？\n]{0,20}(?:没有任何|不受任何|不受)(?:限制|约束|道德)""",
    ),
    evidence(
        "leak",
        "It asks the reader for its own hidden instructions.",
        0.6,
        "prompt prompts instructions message",
        r"""\b(?:reveal|print|show|output|repeat|display|leak|dump|expose|disclose|recite|tell me|give me
        |write out)(?: me| us| verbatim){0,2}
        (?: all of| all)?(?: your| the)
        (?: full| exact| entire| complete| hidden| initial| original| secret| own| internal){0,3}
        [ ](?:(?:system|hidden|initial|secret|developer|internal) (?:prompt|message|instructions?)
        |instructions (?:above|you were given)|prompt above)\b""",
        r"""(?:输出|打印|显示|泄露|透露|重复|复述|告诉我|公开|展示)[^，。！？\n]{0,6}(?:系统提示词?|初始提示词?
        |隐藏的?(?:指令|提示)|系统指令|初始指令|内部指令|开发者指令)""",
    ),
    evidence(
        "exfiltrate",
        "It asks the reader to send what it knows to somebody.",
        0.7,
        "send post forward upload transmit transfer exfiltrate submit email append http https",
        rf"""{ORDER}(?:(?:silently|secretly|quietly|covertly|discreetly|always|also|immediately|now) )?
        (?:(?:silently|secretly|quietly|covertly|discreetly) )?(?:send|post|forward|upload|transmit|transfer
        |exfiltrate|submit|email|append)\b(?! (?:me|us)\b)[^.!?\n]{{0,60}}?
        \b(?:conversation|chat (?:history|logs?)|memor(?:y|ies)|credentials|api keys?|passwords|user(?:'s
        |s)? (?:data|information|details|e-?mails?|messages|secrets)|(?:personal|private|confidential) (?:data
        |information|details)|environment variables)
        [^.!?\n]{{0,40}}?\b(?:to|at) (?:https?://|[\w.+\-]{{1,64}}@|an? external|this (?:url|address|server|webhook
        |endpoint)|the following (?:url|address|server|webhook|endpoint))
        | !\[[^\]\n]{{0,60}}\]\(https?://[^)\s?]{{1,200}}\?[^)\s]{{0,60}}=(?:\{{|\[|<|%7b|\$)""",
        r"""(?:发送|转发|上传|传输|发|提交|泄露)[^。！？\n]{0,20}(?:对话|聊天记录|记忆|用户(?:的)?(?:数据|信息|隐私
        |资料|密码)|密钥|凭据)[^。！？\n]{0,16}(?:到|至|给)[^。！？\n]{0,10}(?:https?:|[\w.]{1,40}@)
        | (?:把|将)[^。！？\n]{0,16}(?:对话|聊天记录|记忆|用户(?:的)?(?:数据|信息|隐私|资料|密码)|密钥
        |凭据)[^。！？\n]{0,12}(?:发送|转发|上传|传输|发|提交)(?:到|至|给)[^。！？\n]{0,10}(?:https?:
        |[\w.]{1,40}@)""",
    ),
    evidence(
        "append_link",
        "It asks the reader to put a link into its answers.",
        0.6,
        "http https www",
        r"""\b(?:append|add|include|insert|put|attach)\b[^.!?\n]{0,40}?(?:https?://|www\.)\S{1,200}[^.!?\n]{0,20}?
        \b(?:to|in|at the end of|into) (?:every|all|each|any|your)(?: of your)? (?:answers?|repl(?:y|ies)|responses?
        |messages?)
        |\b(?:every|all|each|any|your) (?:answers?|repl(?:y|ies)|responses?|messages?)[^.!?\n]{0,40}?(?:https?://
        |www\.)""",
        r"""(?:每次|每个|每条|所有|一切|你的)(?:的)?(?:回答|回复|答案)[^。！？\n]{0,16}(?:加上|附上|插入|添加|附带
        |带上|放)[^。！？\n]{0,12}(?:https?:|www\.)""",
    ),
    evidence(
        "secrecy",
        "It asks the reader to hide something from the user.",
        0.5,
        """tell telling mention mentioning reveal revealing inform informing alert alerting notify notifying
        disclose let letting show""",
        r"""\b(?:do not|don't|never|without|must not|should not)(?: ever)? (?:tell|telling|mention|mentioning|reveal
        |revealing|inform|informing|alert|alerting|notify|notifying|disclos(?:e|ing)|let|letting|show|showing)
        (?:(?: this| that| it| anything| these| the| instructions?| message| to| about){0,5}) (?:users?|the humans?
        |the operators?|the owners?)\b
        | \b(?:do not|don't|never|without) (?:mention|mentioning|reveal|revealing|disclos(?:e|ing)|acknowledg(?:e
        |ing)|repeat|repeating) (?:this|these|the) (?:instructions?|message|prompt|note|rule|directive|memory)""",
        r"""(?:不要|不得|不准|切勿|别|禁止|不能)(?:让|告诉|告知|提醒|透露给?|通知|向)(?:任何)?(?:用户|使用者)(?!名)
        | (?:不要|不得|切勿|别|禁止)(?:提及|提到|透露|泄露|说出)(?:这条|此|本条?|该|这个|上述)(?:指令|消息|提示|规则
        |记忆) | 瞒着(?:用户|客户)""",
    ),
    evidence(
        "authority",
        "It speaks as if it came from the system, its makers or an administrator.",
        0.3,
        """system admin administrator developer developers creator maker programmer security root openai
        anthropic google microsoft""",
        r"""^[\W_]{0,6}(?:(?:urgent|important|official|new|critical|security) )?(?:system|admin(?:istrator)?
        |developer|root|security) (?:override|directive|notice|update|alert|message|instructions?|commands?
        |prompt)\b(?=\W{0,4}(?::|\n|-|$|\]|—|!))
        | \bsystem override\b(?! (?:switch|button|key|valve))
        | \b(?:this is|i am|message from
        |on behalf of) (?:an? |the |your )?(?:official |urgent |authori[sz]ed )?(?:system (?:administrator|override
        |message|directive)|(?:openai|anthropic|google|microsoft)(?:'s)? (?:safety|security|developer|engineer|staff
        |support|team|admin)\w*|your (?:developer|creator|maker|programmer)s?)\b""",
        r"""^[\W_]{0,4}(?:系统|管理员|开发者|官方|平台)(?:最新|紧急|高级)?(?:指令|命令|覆盖|提示|消息|公告
        |通知)[\]】]?\s?[:：\n]
        | (?:最高|管理员|系统级|开发者|root)(?:权限|优先级)(?:的?指令|命令|执行|覆盖|[:：]) | (?:我是|这是)(?:你的
        |系统的?)(?:开发者|管理员|创造者)""",
    ),
    evidence(
        "precedence",
        "It says that it stands above all other instructions.",
        0.34,
        "supersede supersedes override overrides precedence priority",
        rf"""\b(?:supersedes?|overrides?|takes? (?:precedence|priority) over) (?:all|any|every
        |your)(?: other)?(?: \w+)? (?:{_COMMANDS}|memor(?:y|ies))\b
        |\b(?:highest|top|maximum)[- ]priority (?:instruction|directive|command|rule|order)s?\b""",
        r"""(?:高于|优先于|凌驾于)(?:一切|所有|任何)[^，。！？\n]{0,6}(?:指令|规则|设定|命令)""",
    ),
    evidence(
        "self_precedence",
        "The text itself is what it wants to be obeyed.",
        0.4,
        "supersede supersedes override overrides precedence priority obeyed",
        r"""\b(?:this|these|the following|my next) (?:instruction|message|rule|directive|note|memory|order|command
        |prompt)s?
        [ ](?:\w+ ){0,2}?(?:supersedes?|overrides?|takes? (?:precedence|priority)|must be obeyed)\b""",
        r"""(?:最高优先级|最高级别|最优先)的?(?:指令|规则|设定|命令)
        | (?<![能不勿别])(?:把|将)[^。！？\n]{0,16}(?:当作|作为|视为)[^。！？\n]{0,6}(?:指令|命令|规则)""",
    ),
    evidence(
        "markup",
        "It imitates the marks by which a model tells its instructions from what people say.",
        0.6,
        "im_start im_end inst sys system eot_id start_header_id instructions",
        r"""<\|(?:im_start|im_end|system|eot_id|start_header_id|end_header_id)\|> | \[/?inst\] | <</?sys>>
        | </?system[_\-]prompt> | ^\#{2,4} ?(?:system:|system (?:prompt|message):?)\s*$ | ^\W{0,3}(?:begin|end) (?:of )?system (?:prompt|message)\b""",
        r"""[\[【](?:系统|system)(?:提示词?|消息|指令|命令)[\]】]""",
    ),
    evidence(
        "markup_like",
        "It has marks like those by which a model tells its instructions from what people say.",
        0.3,
        "system instructions instruction admin",
        r"""(?<![`>])</?(?:system|instructions|admin)>(?!`|\s{0,3}<| ?(?:tags?|elements?|tokens?|blocks?|标签|标记))
        | ^\#{2,4} ?(?:system|instructions?):?\s*$""",
    ),
    evidence(
        "system_line",
        "A line speaks as the system.",
        0.25,
        "system",
        r"^[ \t\[<(*\-]{0,4}system[\])>*]{0,3} ?: ?(?=\S)",
        r"^[ \t\[【]{0,3}系统[\]】]? ?[:：]",
    ),
    evidence(
        "must",
        "It gives the reader orders.",
        0.25,
        "must required task role goal purpose instruction instructions task obey comply only shall execute",
        rf"""\byou (?:must|are required to|shall)(?: now| always| never| only)?\b | \byour (?:new|only|real|true
        |sole) (?:task|role|goal|job|purpose|objective|instructions?)\b
        | \bnew (?:instructions?|rules?|directives?|task) ?: | {ORDER}(?:obey|comply with|respond only with
        |output only|only (?:respond|reply|answer) with|execute the following)\b""",
        r"""你(?:必须|务必|只能|不得不) | 你的新?(?:任务|身份|使命|角色)(?:是|为)
        | 新的?(?:指令|任务|规则)[:：] | 无条件(?:服从|执行|遵守) | 立即执行以下""",
    ),
)
