"""English and Chinese evidence of attempts to plant something in a memory that should steer later answers.

The kinds follow Dong et al. 2025, "A practical memory injection attack against LLM agents": standing orders in
another's favour, dictated answers to other people's questions, and sources declared as trusted. People tell their own
wishes in much the same way, so each weighs little until it shows who gains or which claim is to be spread.
"""

from __future__ import annotations

import re

from memory.gate.injection_cues import ORDER, evidence

_ANYONE = (
    r"(?:a|an|any|the|some|every|other|future)? ?(?:users?|customers?|clients?|anyone|someone|somebody|anybody|people"
    r"|persons?|visitors?|they|humans?)"
)
_PROMOTE = r"(?:recommend|endorse|praise|promote|advertise|push|link to|plug|upsell|steer)"
_SAY = r"(?:answer|say|reply|respond|tell|state|claim|insist|output|assert|direct|redirect|point|refer|recommend|write)"

_MENTION = r"(?:mention|cite|suggest|prioriti[sz]e|favou?r)"

POISONING = (
    evidence(
        "standing_promotion",
        "It tells the reader to favour something from now on.",
        0.4,
        """recommend endorse praise promote advertise suggest push favor favour mention cite link plug upsell
        prioritize prioritise steer""",
        rf"""{ORDER}(?:(?:from now on|going forward|henceforth|in (?:the )?future|in all future \w+
        |from this point on|for all future \w+|starting now)\W{{1,3}}(?:you (?:must|should
        |will) )?(?:always |only )?|always |only |invariably |permanently )
        {_PROMOTE}\b | \b(?:from now on|going forward|henceforth|in (?:the )?future|in all future \w+
        |whenever [^.!?\n]{{1,60}}?)[, ]{{1,2}}(?:please )?(?:you (?:must |should |will )?)?
        (?:always |only |first )?{_PROMOTE}\b
        | {ORDER}{_PROMOTE} [^.!?\n]{{1,60}}? (?:first|above all others|over (?:all )?(?:other|competitors)
        |every time|in (?:every|all) (?:future )?(?:answers?|responses?|repl(?:y|ies)|conversations?))\b
        | \b(?:for|in|to|on) (?:every|any|all|each) (?:\w+ ){{0,2}}?(?:questions?|quer(?:y|ies)|requests?
        |conversations?|answers?|repl(?:y|ies)|responses?)
        [^.!?\n]{{0,40}}?[ ,](?:you (?:must|should|will) |always |please ){{1,2}}{_PROMOTE}\b""",
        r"""(?<!我)(?<!客服)(?:从现在起|从今以后|从今往后|今后|以后|从此|永远|始终|一律|每次|任何时候|务必|总是
        |无论)(?:(?!不再|不要|员工)[^。！？\n我]){0,24}?(?:推荐|推销|宣传|称赞|吹捧|引导|优先介绍|优先选择)""",
    ),
    evidence(
        "standing_promotion",
        "It tells the reader to mention something from now on.",
        0.3,
        "mention cite suggest prioritize prioritise favor favour",
        rf"""{ORDER}(?:(?:from now on|going forward|henceforth|in (?:the )?future|starting now)\W{{1,3}}
        (?:you (?:must|should|will) )?(?:always |only )?|always |only |invariably |permanently ){_MENTION}\b
        | {ORDER}{_MENTION} [^.!?\n]{{1,60}}? (?:first|above all others|over (?:all )?(?:other|competitors)
        |every time|in (?:every|all) (?:future )?(?:answers?|responses?|repl(?:y|ies)|conversations?))\b""",
    ),
    evidence(
        "dictated_answer",
        "It dictates what to answer when others ask.",
        0.3,
        "when whenever if once every any everytime",
        rf"""\b(?:when|whenever|if|once|every time|any time|each time) (?:ever )?{_ANYONE} (?:ever |later )?(?:asks?
        |asking|inquires?|enquires?|quer(?:y|ies)|wants? to know|requests?|mentions?|talks? about
        |brings? up)\b[^.!?\n]{{0,80}}?
        [, ](?:(?:always|you (?:must|should|will|shall)|please|then|just|only|simply) ){{0,3}}{_SAY}\b""",
        r"""(?:当|如果|若|假如|每当|只要|一旦|凡是|无论|以后|今后|要是|每次)[^。！？\n]{0,10}(?:有人|用户|客户|顾客
        |任何人|别人
        |被问|问你|提问|问到|问起|问及)[^。！？\n]{0,30}?(?:都|就|则|必须|一律|应当?|请|要|，)(?:直接|只|统一)?
        (?:回答|回复|说|推荐|告诉|宣称|声称|答)""",
    ),
    evidence(
        "asked_answer",
        "It dictates what to answer when asked.",
        0.5,
        "asked",
        rf"""\b(?:when|whenever|if|every time|anytime) (?:you are |you're |you get |ever )?asked\b[^.!?\n]{{0,80}}?, ?
        (?:(?:always|you (?:must|should|will|shall)|please|then|just|only|simply) ){{0,3}}{_SAY}\b""",
    ),
    evidence(
        "trust",
        "It asks to be kept as a source that is to be trusted or obeyed.",
        0.65,
        "remember note store save treat regard consider mark memorize keep record register trust",
        rf"""{ORDER}(?:always )?(?:remember|note|store|save|treat|regard|consider|mark|memorize|keep|record
        |register)\b(?:[^.!?\n]|\.(?=\S)){{1,80}}? (?:as|is
        |are) (?:a |an |the |your |my )?(?:most |only |single |highly |sole ){{0,2}}
        (?:trusted|trustworthy|authoritative|verified|definitive|whitelisted|infallible)\b (?:\w+ )?(?:sources?
        |authorit(?:y|ies)|references?|vendors?|providers?|brands?|advis[eo]rs?|domains?|sites?|compan(?:y|ies)
        |instructions?)
        | {ORDER}(?:remember|store|save|memorize|keep|record|write)\b[^.!?\n]{{1,60}}? (?:as|in|into
        |to) (?:a |your |the )?(?:permanent|core|system|highest[- ]priority|long[- ]term|persistent) (?:memor(?:y
        |ies)|instructions?|rules?|directives?)
        | {ORDER}(?:always |blindly |fully |unconditionally )?trust (?:all |any |every )?(?:links?|instructions?
        |commands?|requests?|messages?|code|content|files?) from\b""",
        r"""(?:记住|牢记|记录|保存|标记|视为|当作|认定|存储)[^。！？\n]{0,30}(?:可信|权威|唯一正确|最可靠|官方认证
        |受信任)的?(?:信息|新闻|数据|消息)?(?:来源|信息源|渠道|网站|品牌|机构|平台|供应商)
        | (?:(?:请|务必|必须|立即|马上|(?:把|将)[这此以下])[^。！？\n]{0,30}|(?:^|[。！？：，\n])\s*)
        (?:写入|存入|保存到|植入|记入)(?:你的)?(?:长期|永久|核心|系统)记忆
        | (?:写入|存入|保存到|植入|记入)你的(?:长期|永久|核心|系统)?记忆 | (?:把|将)[^。！？\n]{0,20}(?:视为
        |当作|作为)[^。！？\n]{0,6}(?:可信|权威|受信任|最高)""",
    ),
    evidence(
        "memory_order",
        "It asks the reader to destroy or rewrite what it remembers.",
        0.65,
        "delete erase wipe purge overwrite corrupt clear replace rewrite",
        rf"""{ORDER}(?:delete|erase|wipe|purge|overwrite|corrupt|clear|replace|rewrite)
        [ ](?:all |every |any )?(?:of )?
        (?:your |the user's |the user |stored |existing |previous |other users' |everyone's ){{1,3}}
        (?:memor(?:y|ies)|records|knowledge|facts)\b""",
        r"""(?:删除|清空|清除|抹除|覆盖|篡改|改写)(?:掉)?(?:你|用户|其他用户|系统)(?:的|所有|全部|之前)*(?:记忆|记录
        |知识)""",
    ),
)

# These may be ordinary wishes; `STRENGTHENING` and `beneficiary_after` decide which of them aren't.
ORDERS = frozenset(f"injection.{name}" for name in ("standing_promotion", "dictated_answer", "asked_answer", "trust"))

# Turns a general preference into another's gain, or into a claim to be spread.
STRENGTHENING = (
    evidence(
        "insistent",
        "It leaves the reader no choice.",
        0.3,
        "always must only never regardless",
        rf"""\b(?:always|only|you must) {_SAY}\b | \b(?:no matter what|regardless of|without exception)\b""",
        r"""一律(?!由)|必须|务必|无论如何|只能""",
    ),
    evidence(
        "superlative",
        "It dictates a judgement that others should be given.",
        0.45,
        "best only safest most greatest number no leading superior scam fraud top instead rather over never",
        r"""\b(?:the|an?|is|are) (?:(?:very |world's |single )?(?:best|safest|greatest|most trusted|most reliable
        |leading|superior)|number one|only (?:safe|real|good|trusted|reliable|legitimate)|top choice|scam|fraud)\b
        | \bno\. ?1\b
        | \b(?:instead of|rather than|over|never (?:mention|recommend|suggest)) (?:\w+ ){0,3}?(?:competitors?
        |alternatives?|others|other \w{3,})\b""",
        r"""最好|最佳|最安全|最可靠|最值得信赖|第一(?:选择|品牌)|唯一(?:可靠|安全|正确|可信|值得)?|首选|骗子|骗局
        |不要(?:推荐|提及|提到)其他|而不是其他|稳赚|百分之百|保证收益""",
    ),
    evidence(
        "literal",
        "It gives the words to be said.",
        0.3,
        "answer say reply respond output tell that",
        r"""\b(?:answer|say|reply|respond|output|write)(?: with| exactly| only| that| them| users?){0,3}
        :? ?["'“「‘](?!s\b|t\b|m\b|re\b)""",
        r"""(?:回答|回复|说|答|输出)[:：]?\s?[“「『"']""",
    ),
)

_PROMOTED = re.compile(
    r"\b(?:recommend|endorse|praise|promote|advertise|suggest|push|plug|upsell|steer|link to|answer|say|reply"
    r"|respond|refer|direct)\b|推荐|推销|宣传|称赞|吹捧|引导|优先|回答|回复|说"
)
_BENEFICIARY = re.compile(r"https?://|\bwww\.|(?<![.!?] )(?<!^)\b[A-Z][A-Za-z]*[a-z][\w\-]*|\b[A-Z]{2,}[a-z]+\w*")
_CHINESE_BENEFICIARY = re.compile(
    r"公司|品牌|平台|产品|网站|基金|股票|理财|券商|链接|店铺|https?:|[“「《『][^”」》』\n]{1,20}[”」》』]"
    r"|[A-Za-z]{3,}"
)
# Capitalised words that don't name anybody who would gain.
_NO_ONE = frozenset(
    """english chinese french german spanish italian japanese korean thai indian mexican mediterranean american british
    european asian greek turkish vietnamese python javascript typescript java rust go django react sql linux mac windows
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december i'm i'll ok celsius fahrenheit""".split()
)


def beneficiary_after(text: str, start: int, end: int, *, reach: int = 80) -> bool:
    """Tell whether the order at text[start:end] of the original names a beneficiary within `reach` characters."""
    if not _PROMOTED.search(text[start:end].lower()):
        return False
    following = text[end : end + reach].split("\n", 1)[0]
    named = any(match[0].lower() not in _NO_ONE for match in _BENEFICIARY.finditer(following))
    return named or (not text.isascii() and _CHINESE_BENEFICIARY.search(following) is not None)
