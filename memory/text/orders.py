"""Recognises standing orders: sentences that tell an agent how to work from now on, in English and Chinese.

An order has a verb for an agent's work and something that makes it general: "always", "never", "whenever", 以后, 一律,
or a prohibition. One-time requests ("Don't send it yet"), habits of the speaker or others ("I never …", 她总是…), set
phrases ("Never mind", 别客气) and questions don't count. The patterns look at sentences of bounded length, so that the
time is linear in the length of a text.
"""

from __future__ import annotations

import re

from memory.text.sentences import is_question, split_sentences, strip_fillers

# Only the beginning of a long text is searched.
MAX_CHARS = 2_000


def _join(pattern: str) -> str:
    """Return `pattern` without its line breaks and the indentation after them."""
    return re.sub(r"\s*\n\s*", "", pattern)


_VERBS = _join(
    r"""(?:accept|add|address|agree|answer|apologi[sz]e|archive|ask|assume|attach|avoid|be|begin|book|bring|buy
    |call|cancel|cc|change|charge|check|choose|cite|close|commit|confirm|consider|contact|convert|cook|copy
    |decline|delete|deploy|disclose|disturb|double-check|edit|email|end|exceed|execute|explain|export|feed
    |follow|format|forward|give|greet|guess|hire|ignore|include|install|interrupt|invent|invite|keep|leave
    |limit|link|list|lock|log|make|mark|mention|merge|message|modify|move|notify|offer|open|order|park|pay
    |phone|pick|plan|post|prefer|print|propose|provide|publish|push|put|quote|read|recommend|refer|remind
    |remove|rename|repeat|reply|reschedule|respond|return|reveal|review|round|run|save|say|schedule|select
    |sell|send|serve|set|share|ship|show|sign|skip|sort|speak|spell|spend|start|state|stay|stick|store
    |subscribe|suggest|summari[sz]e|talk|tell|test|text|touch|track|transfer|translate|treat|turn|update
    |upload|use|verify|wait|wake|warn|water|write)"""
)
# Any other word may be a verb, too, except for these and for participles and adverbs by their ending.
_NO_VERB = _join(
    r"""(?:a|an|the|my|your|our|his|her|their|its|this|that|in|on|at|for|with|by|too|so|as|if|when|more|enough|mind
    |again|before|once|one|good|great|nice|fun|happy|glad|sad|sorry|easy|hard|late|early|tired|hungry|busy
    |ready|here|there|sure|such|any|much|many|quite|really|been|had|was|were|did|got|gone|went|seen|saw
    |heard|felt|thought|knew|known|met|made|came|said|told|took|taken|given|gave|ate|eaten|found|lost|won
    |done|understood|forgot|forgotten|a|know|knows|has|is|are)"""
)
_ANY_VERB = rf"(?!{_NO_VERB}\b|\w+(?:ed|ing|ly)\b)[a-z-]+ \w+ \w+"
_PLEASE = r"(?:please,? |and |also,? |but |so |remember(?: that)?[:,]? |note[:,]? )*"
_ADDRESSEE = (
    r"(?:you (?:should|must|may|can|shall|will|are to|need to|have to|(?:must|should|shall|may) not|can't|mustn't"
    r"|shouldn't|are not (?:allowed )?to|are never to)"
    r"|(?:i want|i need|i expect|i would like|i'd like|i'd prefer) you(?: not)? to|make sure(?: that)?(?: you| to)?"
    r"|be sure to|remember to|see to it that you) "
)
_HENCEFORTH = (
    r"(?:from (?:now|today|here|this (?:day|moment)) on(?:wards?)?|from (?:now|today)(?= |,)|in (?:the )?future"
    r"|going forward|henceforth|as of (?:now|today)|at all times|under (?:no|any) circumstances?|by default"
    r"|without exception|in all cases|as a rule)"
)
_EACH_TIME = r"(?:every time|each time|whenever|any time|anytime|when|if) "
# Makes a request that ends with it a standing one.
_LASTING = _join(
    rf"""\b(?:{_HENCEFORTH}|always|again|any ?more|every time|each time|whenever|unless|without (?:asking
    |my|a|an|checking|telling)|with (?:me|my kids)|on (?:week(?:end|day)s|(?:mon|tues|wednes|thurs|fri|satur|sun)days)
    |before \w+(?: in the morning| on \w+)?|only|in all|in every)\b"""
)
# Words for what an agent says and for its form.
_FORM = _join(
    r"""\b(?:answers?|replies|responses?|summaries|messages|sentences|words|bullets?|bullet (?:points|lists)|emojis?
    |units|tone|jargon|abbreviations|first names?|in (?:english|french|german|spanish|italian|portuguese|dutch|chinese
    |mandarin|japanese|korean|russian|arabic|plain \w+|simple \w+))\b"""
)
_ONCE = re.compile(
    r"\b(?:yet|right now|just now|today(?! on)|tonight|tomorrow|this (?:time|morning|evening|week|one)"
    r"|for a (?:moment|minute)|until i|till i|still)\b"
)
_SET_PHRASE = re.compile(
    r"(?:never (?:say never|give up)|always (?:be happy|stay (?:strong|safe|positive))"
    r"|(?:do not|don't) (?:be (?:silly|shy|sorry|sad|afraid|scared|ridiculous|a stranger|so)|mention it"
    r"|tell me (?:you|that you|it's|this)|say (?:that|so|a word)|give up|ask(?:\W|$)|wait up)"
    r"|call me (?:when|if|back|later|tomorrow|tonight|crazy|old|a)\b)"
)
_ENGLISH = tuple(
    re.compile(rf"{_PLEASE}{pattern}")
    for pattern in (
        # "Never book …", "Always answer …", "Only suggest …"; also after "From now on," and "You should".
        rf"(?:{_HENCEFORTH},? )?{_PLEASE}(?:{_ADDRESSEE})?(?:always|never|only|do not ever|don't ever|not ever)"
        rf" (?:{_VERBS}\b|(?<!only ){_ANY_VERB})",
        rf"{_HENCEFORTH},? {_PLEASE}(?:{_ADDRESSEE}|do not |don't )?(?:\w+ly )?{_VERBS}\b",
        # "Whenever you book a hotel, check …", "If I ask for …, only suggest …"
        rf"{_EACH_TIME}(?:you|i|we|someone|somebody|anyone|a|an|the|my|it) [^,.;]{{2,60}}, ?(?:then )?{_PLEASE}"
        rf"(?:{_ADDRESSEE}|do not |don't |always |never |only )?{_VERBS}\b(?! (?:for hours|about))",
        # "Don't use emojis …", "You must not recommend …": prohibitions name the forbidden act.
        rf"(?:do not|don't|you (?:must|should|may|can|shall) not|you (?:mustn't|can't|shouldn't)"
        rf"|(?:i want|i need|i would like|i'd like|i'd prefer) you not to) {_VERBS} \w+ \w+",
        r"stop (?:calling|using|sending|asking|adding|suggesting|recommending|booking|sharing|mentioning|repeating"
        r"|apologi[sz]ing|explaining|writing|including|answering|replying|reminding|quoting|putting|posting|giving)\b"
        r"(?! it\b)",
        rf"(?:{_ADDRESSEE})?{_VERBS} [^?]{{0,120}}(?:{_LASTING})",
        rf"(?:{_ADDRESSEE})?(?:answer|reply|respond|write|speak|talk|keep|use|limit|format|be|make|give|phrase)\b"
        rf"[^?]{{0,80}}(?:{_FORM})",
        r"(?:call|address) me (?:by|as|\w+[,.!]?(?: (?:not|instead|from|and never)\b|$))",
        r"no (?!problem|worries|way|idea|doubt|need|matter|one|more questions)(?:\w+ ){1,3}(?:before|after|without|over"
        r"|under|on|in|unless|during|longer than|please)\b",
    )
)

_CN_TIME = (
    "(?:以后|今后|往后|之后|日后|将来|从现在(?:开始|起)|从今天?(?:开始|起|以后|往后)?|即日起"
    "|每次|每回|每当|任何时候|无论何时|凡是|只要)"
)
_CN_ALWAYS = "(?:都|一律|一定|务必|始终|必须|永远|总是|绝对|千万|只|只能|尽量|要|请|得|统一|全部|均|先|再)"
_CN_NOT = "(?:不要|不许|不准|不得|不能|不可以?|别|勿|切勿|禁止|严禁|少)"
_CN_VERBS = _join(
    """(?:回[复答信]|答复|推荐|建议|订|预[订定约]|购?买|发|寄|发送|写|改|修改|删|删除|用|使用|叫|称呼|喊|说|讲|提|提到|提及|提醒|告诉
    |透露|泄露|分享|公开|转发|安排|打扰|吵醒|打电话|联系|通知|问|询问|确认|检查|核对|注明|标注|引用|附上|抄送|合并|提交|推送|部署
    |订阅|付款|支付|花钱|转账|保存|记录?|存|加|添加|放|列|总结|概括|翻译|解释|道歉|控制|保持|简短|简洁|含|包含|接|接受|拒绝|取消
    |替[我他她]|帮[我他她]|给[我他她孩客家妈爸]|对[我他她客]|跟[我他她客]|和[我他她客]|在|把|写成|说成|按|以|采用)"""
)
_CN_SET_PHRASE = re.compile(
    "(?:不要|别)(?:紧|客气|担心|着急|急|难过|怕|生气|介意|灰心|放弃|这么说|那么说|闹|逗|提了|多想|想太多|放在心上|说了|忘|开玩笑"
    "|谢|在意|见怪|了[，。！,!]?)|(?:以后|之后|改天)(?:再说|再聊|见|有(?:机会|空|时间))|叫我怎么|下次见"
)
_CN_ONCE = re.compile(
    "(?:先别|先不要|这次|今天(?!起|开始)|今晚|明天|后天|这会儿|等会儿?|一会儿|现在(?!开始|起)|暂时|还在|还没)"
)
# Matches actions of the speaker or of others.
_CN_SELF = re.compile(
    "^(?:我|咱|他|她|大家|老师|妈妈?|爸爸?)|(?:我们?|咱们?|[他她]们?)(?:要(?!求)|想|会|就|从来|也|不|得|打算|准备|总|每|一直|都)"
)
_CHINESE = tuple(
    re.compile(pattern)
    for pattern in (
        # 不要给我推荐…, 别再叫我…, 禁止使用…
        f"^(?:请|你|麻烦|记住|还有|另外|千万|绝对|永远|一律|务必|[，,：:])*{_CN_NOT}(?:再|随便|擅自|总)?{_CN_VERBS}.{{2}}",
        # 以后都用中文回复, 今后写邮件一律…, 每次付款之前都要…
        f"^(?:请|你|记住|[，,：:])*{_CN_TIME}[^。？]{{0,24}}?(?:{_CN_ALWAYS}|{_CN_NOT}){{1,3}}.{{0,8}}?{_CN_VERBS}",
        f"^(?:请|你|[，,：:])*{_CN_TIME}[^。？]{{0,16}}?[，,]?(?:就|请)?(?:用|把|控制|写成|改成|叫我|称呼我|回复|回答).{{2}}",
        # 没有我的同意，不要…; 周末早上七点以前别…; 回答我的时候不要…
        f"^[^。？，,]{{2,16}}(?:同意|许可|以前|之前|以后|的时候|时|周[一二三四五六日末]|里)[，,]?{_CN_NOT}(?:再)?{_CN_VERBS}?.{{2}}",
        # 请始终用…, 回复客户时一律…, 务必每次都…
        f"^(?:[^，,。？]{{2,8}}?时)?(?:请|你)?(?:始终|一律|务必|永远|必须|一定要?)(?:每次|都|要|先)*{_CN_VERBS}",
        # 请叫我小雅, 叫我王老师就好
        "^(?:请|麻烦|以后|就)*(?:叫我|称呼我)(?!吗)[^，。？！]{1,8}(?:[，。！]|就(?:行|好|可以)|$)",
        "^请?(?:只|都)?用(?:[中英法德日韩俄]|西班牙|意大利|阿拉伯|葡萄牙)(?:文|语)(?:回复|回答|写|交流|跟我|和我|说)",
        "^(?:你的)?(?:回[复答]|总结|答案|邮件)(?:请|要|都|尽量|必须)[^？]{2,20}",
    )
)


def is_standing_order(text: str) -> bool:
    """Tell whether a sentence of `text` is a standing order."""
    return any(map(_is_order, split_sentences(text[:MAX_CHARS])))


def _is_order(sentence: str) -> bool:
    plain = strip_fillers(sentence).replace("’", "'").lower()
    if is_question(plain):
        return False
    return _is_english_order(plain) or _is_chinese_order(plain)


def _is_english_order(plain: str) -> bool:
    if _ONCE.search(plain) or _SET_PHRASE.match(plain):
        return False
    return any(pattern.match(plain) for pattern in _ENGLISH)


def _is_chinese_order(plain: str) -> bool:
    if plain.isascii() or _CN_SET_PHRASE.search(plain) or _CN_ONCE.search(plain) or _CN_SELF.match(plain):
        return False
    return any(pattern.search(plain) for pattern in _CHINESE)
