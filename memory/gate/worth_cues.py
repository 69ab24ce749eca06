"""English and Chinese cue phrases for each part of a turn's worth for long-term memory.

The English cues are matched as whole lower-case words with straight apostrophes. They look at a bounded number of
characters from any start, so that the time is linear.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.gate.literals import Literals, find_literals, has_literals
from memory.gate.patterns import one_line


class Cue(NamedTuple):
    """Separate patterns for English and Chinese, because few texts mix them; `literals` belong to the English one."""

    english: re.Pattern[str]
    chinese: re.Pattern[str]
    literals: Literals

    def is_in(self, text: str, *, chinese: bool) -> bool:
        """Tell whether the lower-case `text` contains the cue; `chinese` says that it has Chinese to search."""
        if has_literals(text, self.literals) and self.english.search(text):
            return True
        return chinese and self.chinese.search(text) is not None


def _cues(english: str, chinese: str) -> Cue:
    compiled = re.compile(rf"\b(?:{one_line(english)})\b")
    return Cue(compiled, re.compile(one_line(chinese)), find_literals(compiled))


_ADVERB = r"(?:just|also|actually|really|only|recently|finally|already|even|still|always|usually|often|never|sometimes)"

# Actions and states of the speaker or the speaker's own people.
ACTION = _cues(
    rf"""(?:i|we)(?:'ve| have| had|'d)? (?:{_ADVERB} ){{0,2}}(?:\w{{2,14}}ed|spent|bought|got|went|had(?! no )|made|met
    |took|saw
    |read|ran|ate|paid|found|began|left|lost|won|built|chose|wrote|sold|sent|slept|drove|flew|gave|grew|heard|kept
    |told
    |came|broke|caught|held|led|put|set|taught|swam|rode|sang|hit|quit|cut)\b(?! (?:if|whether|about)\b)
    | (?:i'm|i am|we're|we are) (?:{_ADVERB} )?(?:an? |the |from |allergic |married |engaged |pregnant |based |working
    |living |learning |studying |training |moving |vegan|vegetarian|\d)
    | (?:i|we) (?:{_ADVERB} )?(?:live|work|own|play|study|teach|run|speak|drive|use|keep|eat|drink|take|practi[cs]e)
    | my (?:\w{{2,16}} ){{1,3}}(?:is|are|was|were|cost|has|have|had|just|said|got|works?|lives?|called)
    | (?:i|we) (?:have|'ve got|have got) (?:an? |the |two |three |four |my |\d)
    | (?:i was|we were) (?:born|raised|diagnosed|promoted|hired|fired|invited|there)""",
    """(?:我|咱)们?(?:昨[天晚]|今[天早晚]|上周|上个?月|去年|刚刚?|已经|最近|之前|以前|小时候|又|也|都|才|就|一直
    |平时|每[天周月年]|周[一二三四五六日末]){0,4}
    [^，。！？\\s]{0,10}(?:了(?!解)|过|住在|在[^，。！？]{1,12}(?:工作|上班|上学|读书|生活)|毕业|养了
    |有[一两三个只位台套]|姓|叫)
    |我(?:是|今年|来自|属于)(?!说|不是|觉得|想)|我(?:的|家|妈|爸|老婆|老公|妻子|丈夫|弟弟|哥哥|姐姐|妹妹|儿子|女儿|女友|男友|同事|朋友
    |老板|孩子)
    |我对[^，。！？]{1,10}过敏""",
)
PREFERENCE = _cues(
    r"""prefer(?:s|red|ences?)? | favou?rites? | (?:dis)?likes | loves | hates | dislike | adore | enjoys?
    | (?:i|we|really|do|still|always|also|absolutely|don't|didn't|never|not|actually|just|to)
    [ ](?:like|loved?|hate|enjoy(?:ed|ing)?|dislike)\b(?! to\b| it if\b)
    | enjoying | loving | can't stand | fan of | fond of | keen on | (?:really|so|be|am|i'm|was) into | i'd rather
    | my taste | prefer to | drawn to | tired of | grown on me | not for me
    | (?:any ?more|these days|lately)""",
    """喜欢|喜爱|偏好|偏爱|讨厌|厌恶|反感|最爱|热爱|爱(?:吃|喝|看|听|玩|穿|用|去|读|做)|不爱|更愿意|宁愿|宁可|倾向于
    |爱好|不吃|不喝|吃素
    |习惯(?:用|喝|吃|早|晚|在)|受不了|忌口|迷上|着迷""",
)
PLAN = _cues(
    rf"""(?:i|we)(?:'ve| have| {_ADVERB})? (?:need|have|got|plan|intend|hope|want|promised|decided|agreed|aim
    |ought)(?:ed)?
    [ ]to (?!know\b|ask\b|learn more\b|hear\b|say\b|admit\b|agree\b|get going\b|run\b|go now\b|chat\b|talk\b)
    | (?:i'm|we're|i am|we are) (?:{_ADVERB} )?(?:going to|planning|trying to|saving|preparing|getting ready
    |supposed to
    |hoping to (?!learn\b|know\b|get some\b)|starting|flying|travell?ing|meeting)
    | (?:i|we)(?:'ll| will) (?!be (?:fine|ok)\b|try\b|let you\b|keep that\b|have to go\b|see\b) | my goal | new goal
    | deadline | due (?:on|by|date|in) | appointment | to-?do | scheduled? | reminds? me to | don't forget | my plan
    | postponed? | reschedul\w{{2,4}} | budget""",
    """打算|计划|准备(?!好)|想要?(?:去|学|买|换|做|在|把)|得去|要去|需要|必须|决定|目标|截止|期限|预约|约(?:了|好
    |在)|安排|待办|提醒我|别忘|下(?:周|个月|月|次)
    |明天|后天|明年|年底|推迟|改期|预算|报名""",
)
CHANGE = _cues(
    r"""no longer | (?:not |n't )?any ?more | used to (?!it\b|that\b|this\b) | instead(?: of)? | changed? (?:to|from
    |my mind|our minds?)
    | now (?:prefer|like|live|work|use|want|it's|i)
    | switch(?:ed|ing)? (?:to|from|over) | replac(?:ed?|es|ing) | correction | moved? (?:to|from) | rather than
    | actually,? (?:it|i|we|let's|the|that|my|our|no) | updated? | i meant | not \w{1,20},? but | stopped | quit
    | gave up
    | cancell?ed""",
    """改成|改为|改到|改用|改在|换成|换到|换了|不再|而不是|推迟到|提前到|更正|纠正|其实(?:是|我)|现在(?:是|用|改|不|住)|搬到|搬去|搬家|戒了|不(?:用|去|做|干)了|取消|说错""",
)
RECORD = _cues(
    r"""(?:please |let's |also |you can |like to |need to |want to )(?:\w{2,10} ){0,2}(?:add|remove|delete|update
    |change|include|note|remember|save|record|track
    |set|use|drop|replace|put|list|mark|call)
    | (?:add|remove|delete|cross|take|mark) .{1,80} (?:to|from|off|in|as) (?:the|my|our|your|that) (?!back\b)
    | remember (?:that|this|to|my|i|we) | keep in mind | for the record | make a note | note that | fyi
    | just so you know | for future reference""",
    """请?(?:帮我)?(?:记住|记下|记一下|记得|备注|添加|加上|加入|删除|删掉|去掉|更新|修改为|标记|保存)|供你参考
    |你要知道|以后""",
)
STATED = _cues(
    r"""(?:the|our|this|their|his|her|its|that) (?:[\w'-]{2,20} ){1,6}(?:is|are|was|were|will|include[sd]?|has|have
    |had|focus(?:es|ed)|covers?|costs?
    |starts?|ends?|aims?|needs?) (?!(?:so|really|very|quite|pretty|definitely|always|truly|certainly|just|more|all
    |a (?:great|good)
    |interesting|amazing|fascinating|great|important)\b)
    | (?:he|she|they) (?:is|are|was|were|has|have|had|lives?|works?|said|moved|will|likes?|loves?|went|got|wants?
    |needs?)
    | we (?:decided|agreed|discussed|approved|authorized|will|need|use|chose|reviewed|plan)
    | it(?:'s| is| was) (?:for|called|from|due|at|on|about|by) """,
    """(?:她|他|它)们?[^，。！？]{0,8}(?:是|在|住|说|去|有|要|想|喜欢|生|做)|[的们期名目者人司间地点格款法]是(?!不是
    |吗|否)|名叫|叫做|位于|负责|定在|定于|包括|一共|总共|分别""",
)
MUSING = _cues(
    r"""wonder(?:s|ed|ing)? | curious | makes (?:(?:a lot of|perfect|total|good|complete) )?sense | makes (?:me|you
    |one) (?:think|wonder|realize|appreciate)
    | interesting(?:ly)? | fascinating | incredible | amazing | (?:i )?(?:think|guess|suppose|imagine|bet|believe
    |figure|see|agree|heard)
    | (?:it|that|they|this) (?:really |certainly |definitely |just )?(?:does|is|do|did|seems?|sounds?|looks?|feels?
    |helps?|shows?|makes?)
    | it's (?:always|really|so|quite|pretty|definitely|true|great|good|amazing|hard|easy|funny|like|almost|a)
    | what you mean | good (?:point|question|way)
    | that's (?:a|an|the|so|true|really|quite|very|all|definitely|interesting|exactly) | those (?:are|sound)
    | i never (?:thought|knew|realized)
    | people | humans? | (?:you|we) (?:can|might|could|often|all|tend|just) | such an? | like how""",
    """有意思|有道理|真有趣|很有趣|有趣的|好奇|想知道|不知道|令人|让人|我(?:觉得|认为|猜|想|感觉|明白|理解|同意)(?!要)|听起来|看起来|似乎|确实|没错|说得|原来如此|人们|人类|大家都""",
)
SMALL_TALK = _cues(
    r"""(?:i'm|it's|been|day's|things are|i am) (?:doing |going |all )?(?:well|good|great|fine|okay|ok|alright
    |not bad) | how (?:are|about) you
    | (?:help|assist) me | could help | (?:need|like|want|for) (?:some |your |a bit of )?(?:help|assistance)
    | just (?:wondering|checking|chatting|curious|looking|wanted to|getting)
    | nice (?:chat|talk)\w* | (?:good|great|nice|lovely|enjoyed|enjoying
    |pleasure) (?:to |the |our |this )?(?:chat\w*|talk\w*|meet\w*|hear\w*|conversation) | the chat
    | get(?:ting)? going | (?:go|going) now | head out | talk (?:to you )?(?:later|soon|again) | that's all
    | thanks? | thank you | welcome | bye | hi there | hello
    | usual (?:tasks|stuff|things|routine) | not much | nothing (?:much|special|else) | (?:so far )?so good
    | same here | you too | ask you
    | (?:a )?quick question | a question | the help | your help | explain(?:ing|ed)? | for sharing | for asking""",
    """你好|您好|谢谢|感谢|再见|拜拜|晚安|早上好|下午好|辛苦|还行|还好|挺好的?|没什么|随便聊|聊聊|帮我个忙|帮个忙|请问|想问|问一下|先这样|回头聊|不客气|加油|祝你|哈哈""",
)
ADDRESSED = _cues("you | your | yours | yourself", "[你您]")

# Capitals inside a sentence, hashtags and quotations, matched in the original text.
_CAPITAL = re.compile(r"[A-Z](?<=[^.!?…\s\"'“] [A-Z])(?!\b)[\w'’-]*+")
_QUOTED = re.compile(
    r"[#@](?<!\w[#@])[^\W\d_]\w++|[\"“「《『][^\"”」》』\n]{2,80}[\"”」》』]|`[^`\n]{2,60}`"
    r"|'(?<!\w')[^'\n]{3,80}'(?!\w)"
)
_CHINESE_NAME = re.compile(
    r"小[^\W\d_](?=[，。说在的是要和跟去])"
    r"|[\u4e00-\u9fff]{1,6}(?:公司|大学|医院|学校|街道?|路|小区|餐厅|酒店|先生|女士|老师|医生|经理|省|市|区)"
)
# Matched in lower case.
_DIGITS = re.compile(r"\d++(?:[.,:/-]\d++)*+")
_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|monday"
    r"|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|september|october"
    r"|november|december|yesterday|today|tomorrow|tonight|weekend|morning"
    r"|(?:last|next|this) (?:week|month|year|summer|winter|fall|spring))\b"
)
_CHINESE_NUMBER = re.compile(
    r"[一二两三四五六七八九十百千万半]+(?:[个天周月年点号日元块次人岁只条公里斤杯]|小时|分钟)|(?:周|星期"
    r"|礼拜)[一二三四五六日天末]"
    r"|[今昨明后前][天晚]|[上下这]周|[上下这]个?月|[今去明]年|生日|早上|上午|下午|晚上"
)


def names(text: str, *, chinese: bool) -> set[str]:
    """Return the names and quotations of `text` as they are written; `chinese` says that it has Chinese to search."""
    found = {*_CAPITAL.findall(text), *_QUOTED.findall(text)}
    return found.union(_CHINESE_NAME.findall(text)) if chinese else found


def numbers(text: str, *, chinese: bool) -> set[str]:
    """Return the numbers, dates and times of lower-case `text`; `chinese` says that it has Chinese to search."""
    found = {*_DIGITS.findall(text), *_NUMBER_WORD.findall(text)}
    return found.union(_CHINESE_NUMBER.findall(text)) if chinese else found
