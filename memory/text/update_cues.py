"""Finds words that suggest or contradict that a statement updates an earlier one, in English and Chinese.

Each says little alone: `governance.update_score` weighs them together.
"""

from __future__ import annotations

import re
from functools import lru_cache

CUES: dict[str, str] = {
    "as before": (
        r"\b(?:still|same|as (?:always|before|usual|ever|planned)|like always|unchanged|unaffected"
        r"|stays?(?! (?:at|on|in)\b)|stayed|remains?|usual|either way|keeps?|kept)\b"
        r"|照旧|还是(?!换|改|[\d一二三四五六七八九十两半])|照样|一样|没变|不变|没动|没换|没改|仍|依旧|依然|老样子|照常|还在|还得"
    ),
    "new": (
        r"\bnew\b(?! york| zealand| delhi| orleans| jersey)"
        r"|(?<![创革翻清维最更全])新(?![兴品闻鲜年春疆华颖式生潮型]|加坡|西兰|能源|材料|技术|科技|时代|产品|方法)"
    ),
    "now": r"\b(?:now|nowadays|these days|currently|by now|at present|meanwhile|today)\b|现在|如今|目前|眼下",
    "no longer": r"\b(?:no longer|any ?more|no more|never again)\b|不再|再也不|[不没][^，,。]{1,8}了",
    "from then": (
        r"\bfrom (?:now|today|next|this|the|\w+day|january|february|march|april|may|june|july|august|september"
        r"|october|november|december)\b|\b(?:as of|starting|since|effective|until further)\b"
        r"|起(?=[，,。改]|$)|开始|以后|今后|往后"
    ),
    "at last": (
        r"\b(?:finally|at last|ended up|went with|gone with|official(?:ly)?|turns? out|turned out|after all"
        r"|in the end|for good|settled)\b|终于|最后|最终|总算|正式|彻底|干脆"
    ),
    "changes": (
        r"\b(?:changed?|switch\w*|mov(?:ed|ing)|replac\w+|swap\w*|became|become|turned|promoted|upgrad\w+|renam\w+"
        r"|migrat\w+|transferred|shifted|raised|lowered|cut|increased|reduced|dropped|rose|went (?:up|down)|bumped"
        r"|extended|shortened|postponed|rescheduled|pushed|brought forward|took over|taken over|handed)\b"
        r"|改[成为到在叫用]|换[成到了掉]|变[成为]|调[到成去整]|搬[到去]|转[到去成正]|升[到为成]|[涨降][到成了至]|推迟|提前|改名|接手|交给|归"
    ),
    "over": (
        r"\b(?:gone|dead|sold|closed|shut|broke|broken|left|quit|cancell?ed|retired|died|empty|over|finished|off"
        r"|stopped|gave up|given up|lost|ended|out|away|returned|graduated|resigned|got rid|done|zero|none|bankrupt"
        r"|scrapped|binned)\b"
        r"|卖了|关[了张门停]|停[了掉]|退[了休租掉订]|戒|没了|丢了|坏了|走了|离[职婚开了]|分了|辞|取消|结束|毕业|完了|不干|黄了|废|掉了"
    ),
    "plan": (
        r"\b(?:thinking|thought|think|want(?:s|ed)?|plan\w*|consider\w*|might|may|could|would|should|maybe|perhaps"
        r"|hope\w*|wish\w*|if|whether|rumou?rs?|talk(?:ing|ed)? (?:about|of)|demand\w*|tempt\w*|dream\w*|someday"
        r"|one day|going to|will|proposes?|idea|discuss\w*|decision)\b|'ll\b"
        r"|想|打算|计划|考虑|可能|也许|如果|要是|听说|传|建议|商量|再说|念叨|劝|万一|估计|犹豫"
    ),
    "besides": (
        r"\b(?:too|also|as well|another|additional\w*|besides|extra|both|on top|one more|second|other|either|plus"
        r"|in addition|two of|more)\b|也|另外|另一|又|第二|除了|同时|额外|加上|多了|还有|还加|加了"
    ),
    "one time": (
        r"\bthis (?:time|once|morning|evening|afternoon|week|weekend|\w+day)\b|\b(?:just )?for (?:now|today|tonight"
        r"|once|the (?:day|weekend|summer))\b|\blast (?:night|week|weekend|\w+day|year|time)\b"
        r"|\bon (?:sun|mon|tues|wednes|thurs|fri|satur)day\b"
        r"|\b(?:yesterday|tonight|tomorrow|once|while|during|instead of|temporar\w*|ago|earlier)\b"
        r"|今天|昨[天晚]|明天|今晚|这次|这回|上[次回]|那[次天回]|临时|暂|偶尔|有时|周末|期间|前[天几阵]|刚才|后来|小时候|当年|以前|之前"
    ),
    "was": r"\b(?:used to|was|were|had|before|back then|previously)\b",
    "said": (
        r"\b(?:says?|said|told|asks?|asked|claims?|heard|reads?|wonders?|reckons?|recommends?|suggests?)\b|说|问|听|告诉|提醒"
    ),
    "person": (
        r"\b(?:mate|friend|colleague|neighbou?r|brother|sister|mother|father|mum|dad|mom|wife|husband|cousin|aunt"
        r"|uncle|flatmate|roommate|boss|parent|son|daughter|kid|he|she|they|his|her|their)s?\b"
        r"|妈|爸|哥|姐|弟|妹|老公|老婆|同事|朋友|邻居|室友|同学|[他她]"
    ),
    "its": r"\b(?:its|their|his|her)\b",
    "got": r"\b(?:bought|got|gets?|has a new|had|brought in|hired|added)\b|买了|加了",
    "aspect": r"(?<!极)(?<!太.)(?<!太..)(?<!太...)(?<!太....)(?<![\d一二三四五六七八九十岁])了(?=[，,。!！？]|$)",
}  # fmt: skip
_FIND = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in CUES.items()}
# Cues that may announce a change.
TELLING = frozenset(("now", "no longer", "from then", "at last", "changes", "over", "aspect", "new", "got"))


@lru_cache(maxsize=1024)
def cues(sentence: str) -> frozenset[str]:
    """Return the names of the `CUES` in `sentence`."""
    return frozenset(name for name, pattern in _FIND.items() if pattern.search(sentence))
