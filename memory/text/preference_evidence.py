"""Checks by strict rules that a turn shows the attitude that a language model read in it.

A thing is wanted if a word of liking or of regular use governs it, and no word of aversion or negation is near: taking
an allergy for a liking does harm, whereas a liking that is left out can still be found in the turn. A thing is avoided
unless only words of liking govern it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.enums import Attitude, FactRefusal
from memory.text.analysis import is_cjk, terms
from memory.text.choice_cues import FOR_OTHERS
from memory.text.utterances import own_statements

# Replaces the object of the preference in a sentence.
_THING = "\x02"
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
# Maximum span of an object whose words are scattered, in characters.
_MOST_SPAN = 60
# A following sentence with this few words has no subject: "Allergic, though."
_FEW_WORDS = 4

_NEGATION = r"\b(?:no|not|never|none|nothing|nobody|neither|nor|without|cannot|dont|cant|wont|hardly|barely|scarcely|rarely|seldom)\b|n't\b"
_AVERSION = re.compile(
    rf"""{_NEGATION}
    |\b(?:hat(?:e[ds]?|ing|red)\b|loath|detest|despis|abhor|dislik|dread|avoid|shun|refus|reject|declin|forb[ia]d|prohibit|ban(?:s|ned)?\b
    |allerg|intoleran|sensitiv|avers|disgust|repuls|repel|revolt|nause|queas|sick|ill\b|unwell|vomit|puk(?:e|ing)|gag|retch|hives|rash|itch
    |swell|swollen|wheez|chok|anaphyla|epi-?pen|hospital|emergency|ambulance|doctor|medic|migraine|headache|cramp|bloat|heartburn
    |reflux|diarrh|pain|hurt|ache|aching|poison|toxic|dead|lethal|fatal|kill|harm|danger|fear|afraid|scare|terrif|phobi|panic
    |anxi|stress|uneasy|uncomfort|upset|annoy|irritat|bother|bor(?:e|es|ed|ing|edom)\b|tired\b|fed[ ]up|weary|off[ -]limits|taboo|haram
    |unclean|against|quit\b|quitting|g[ia]ve\b.*\bup\b|giv(?:en|ing)\b.*\bup\b|sw(?:ear|ore|orn)[ ]off|cut(?:ting)?\b.*\bout\b|stop|ceas
    |away\b|clear[ ]of|steer|skip|pass(?:ed)?[ ]on|l(?:eave|eft)\b.*\b(?:out|behind)\b|off[ ]the[ ]menu|remov|ditch|abandon|regret|wors|awful
    |horribl|terribl|disagree|bad\b|badly|trouble|problem|issue|struggl|suffer|react|trigger|br(?:eak|oke)\w*[ ]out|flare|enem|kryptonite
    |nightmare|tortur|unbearabl|lost\b|least\b|far[ ]from|anything[ ]but|last[ ]thing|hell\b|yuck|eww?\b|gross|overrated|shudder|cring|winc
    |flee\b|except|other[ ]than|apart[ ]from|used[ ]to\b|less\b|recover|restrict|intak|diet|detox|blotch|red[ ]spots|faint|dizz|collaps
    |die\b|dying|suffocat|throat|stomach|gut\b|bowel|throw(?:s|ing)?[ ]up|threw[ ]up|turns?[ ]me[ ]off|put[ ]off|ruin|spoil|punish|cross(?:ed)?\b
    |wish\b|want[ ]to[ ]like|tr(?:y|ied)[ ]to[ ]like|pretend|fak(?:e|ing)|suppos|sober|abst[ae]i?n|intoler|relig|sacrific|surviv|endur|toler|minus\b|free\b|but\b|though|however|sadly|unfortunate|alas\b|shame|pity\b|yet\b|until\b|unless\b|if[ ]only|as[ ]much[ ]as|only[ ](?:in|if|when|from|at|as)\b|hold[ ]the|gout\b|asthma|eczema|sneez|symptom|airway)""",
    re.VERBOSE,
)
# Negations that express how much people like a thing.
_TIME = r"(?:(?:a|an|one|my|the|any|single|whole|two|three) ){0,3}(?:day|morning|evening|night|week|weekend|month|year|summer|winter|life|shift|breakfast|lunch|dinner)s?"
_PRAISE = re.compile(
    r"(?:\b(?:i|we) )?\b(?:(?:just|simply|really|absolutely) )*"
    r"(?:(?:can't|cannot|can not|couldn't|could not)(?: ever)? (?:(?:get|have) enough(?: of)?|say no to|resist|(?:live|do|be|manage|function|survive) without"
    rf"|(?:start|begin|end|imagine|picture|go|get through|face) {_TIME} without)"
    rf"|(?:never|don't ever|will never|won't ever) (?:say no to|(?:get )?tired? of|(?:get )?bored (?:of|with)|miss|pass up|go {_TIME} without))(?= )"
    r"|\b(?:there is |there's )?nothing (?:beats|(?:is |makes me |relaxes me )?(?:better|happier|more) than)(?= )"
)
_ADVERB = (
    r"(?:(?:[a-z]+ly|also|just|still|very|much|rather|quite|pretty|always|so|do|sure|even|more|most|often|sometimes|tend to"
    r"|usually|now|too|have always|have long) )*"
)
_OWN = rf"(?:(?:^|\b(?:i|we) |\b(?:i|we)\b[^.;]{{0,80}}\b(?:and|but|or|who) ){_ADVERB})"
_OWN_BE = rf"(?:^(?!i |we |my )|(?:\b(?:i am|we are|i have (?:always )?been|i get) )){_ADVERB}(?:an? |the )?(?:(?:[a-z-]+) ){{0,2}}?"
# Matches what may stand between the verb and the thing: no other thing, and no activity but those of using it.
_TAKING = (
    r"eating|drinking|having|watching|reading|playing|cooking|baking|wearing|using|riding|driving|flying|taking|buying|visiting|hiking|walking|running|cycling"
    r"|swimming|travell?ing|going|staying|sitting|listening|dancing|making|doing|working|growing|collecting|learning|attending|singing|skiing|camping|cooling"
)
_BETWEEN = (
    r"(?: (?:(?:listen|listening|go|going|went|dance|dancing|travel|travell?ing|trips?|visits?|walks?|return|get|getting|comes?) to|to(?= [a-z]+ )"
    r"|(?!(?:than|over|instead|except|after|before|because|when|whenever|if|with|from|against|around|near|due|despite|but|unless|until|while|rather|to|that|who|which|though"
    r"|for|as|about|see|seeing|hear|of|others?|people\S*|only|kept|keep|being|ban|idea|thing|how|where|what|absence|is|are|was|has|my|his|her|their|your)\b)"
    rf"(?:(?:{_TAKING})\b|(?![\w-]+ing\b)[\w'-]+))){{0,4}} {_THING}"
)
_LIKES = re.compile(
    rf"{_OWN}(?:loved?|liked?|enjoy(?:ed)?|adored?|prefer(?:red)?|favou?r|cherish|relish|savou?r|treasure|crave|appreciate|dig|fancy|live for|swear by"
    r"|looks? forward to|gravitate to(?:wards?)?|lean to(?:wards?)?|am drawn to|go for|opt for|treat myself to|indulge in|delight in|revel in"
    rf"|take (?:[a-z]+ )?(?:pleasure|delight|joy) in|find (?:[a-z]+ )?(?:joy|comfort|peace|pleasure|solace) in)(?: to)?{_BETWEEN}"
    rf"|{_OWN_BE}(?:fan of|lover of|devotee of|fond of|into|keen on|partial to|crazy about|mad about|nuts about|wild about|passionate about|obsessed with|hooked on"
    rf"|enthusiastic about|excited about|big on|all about|in love with|sucker for|drawn to|fascinated by|happiest (?:with|when))(?: to)?{_BETWEEN}"
    rf"|\bi have (?:always had )?(?:[a-z]+ ){{0,3}}(?:soft spot|weakness|passion|love|fondness|preference|penchant|thing|taste|sweet tooth) for{_BETWEEN}"
    rf"|\bmy (?:[\w'-]+ ){{0,4}}(?:favou?rites?|go-to|passion|comfort food|guilty pleasure|first choice|hobby|hobbies|weakness)(?: [\w'-]+){{0,4}},?(?: is| are|:){_BETWEEN}"
    rf"|{_THING},? (?:[\w'-]+ ){{0,3}}(?:is|are|has been|have been|has always been|remains?) (?:[\w'-]+ ){{0,2}}my (?:[\w'-]+ ){{0,3}}(?:favou?rites?|go-to|thing|jam|passion|weakness"
    r"|pleasure|comfort food|choice|joy|love|happy place|cup of tea|hobby|idea of)\b"
    rf"|{_THING},? (?:[\w'-]+ ){{0,3}}(?:makes?|leaves?|keeps?) me (?:[a-z]+ ){{0,2}}(?:happy|happier|smile|calm|relaxed|feel (?:alive|good|great|at home|calm|relaxed|better))\b"
    rf"|{_THING},? (?:[\w'-]+ ){{0,2}}(?:gives?|brings?) me (?:[a-z]+ ){{0,3}}(?:joy|pleasure|peace|happiness|comfort|energy)\b"
    rf"|{_THING},? (?:[\w'-]+ ){{0,2}}(?:calms|relaxes|soothes|cheers|inspires|delights|fascinates|excites|motivates|thrills|charms|lifts|calm|relax|soothe|cheer|inspire|delight"
    r"|fascinate|excite|motivate|thrill|lift) (?:me|my mood|my spirits)\b"
    rf"|{_THING},? (?:is |are )?(?:[a-z]+ )?(?:what |something |a thing |things )?(?:that )?(?:i|we) {_ADVERB}(?:love|like|enjoy|adore|prefer|live for)\b(?: (?:it|them|most|best|so much|a lot|doing))?(?=[ ,.!]*$)"
)
_ACTS = (
    r"(?:eat|drink|have|use|wear|watch|buy|take|stay|fly|drive|ride|read|play|listen|cook|run|swim|travel|go|work|shop|choose|book|order|sit"
    r"|sleep|walk|cycle|start|bring|pick|rent|meditate|exercise|train|bake|make|do|visit|practi[sc]e|attend|hike|paint|write|dance)"
)
_OFTEN = r"(?:always|usually|normally|typically|generally|mostly|often|regularly|almost always|nearly always|tend to|frequently)"
_EVERY = r"(?:every|each|most) (?:single )?[a-z]+|daily|weekly|all the time|(?:once|twice|[a-z]+ times) an? [a-z]+|on (?:[a-z]+days|weekends)"
_HABIT = re.compile(
    rf"(?:^|\b(?:i|we) ){_OFTEN} {_ADVERB}{_ACTS}\b{_BETWEEN}"
    rf"|(?:^|\b(?:i|we) ){_ADVERB}{_ACTS}\b{_BETWEEN}[^.;]{{0,40}}\b(?:{_EVERY})\b"
    rf"|\b(?:{_EVERY}|as a rule|usually|normally),? (?:i|we) {_ADVERB}{_ACTS}\b{_BETWEEN}"
    rf"|(?:^|\b(?:i|we) )(?:{_OFTEN} )?{_ADVERB}{_THING}[^.;]{{0,20}}\b(?:{_EVERY})\b"
)
_BOUND = re.compile(
    r"\b(?:allerg|intoleran|anaphyla|hives|rash|swell|swollen|itch|wheez|epi-?pen|hospital|sick|ill\b|vomit|avoid|shun|refus|never|cannot|cant\b|can't"
    r"|must|mustn't|forb[ia]d|prohibit|banned|allowed|off[ -]limits|haram|halal|kosher|vegan|vegetarian|coeliac|celiac|diet|doctor|only"
    r"|away from|clear of|sw(?:ear|ore|orn) off|g[ia]ven? .*\bup\b|given? up|without|react|insist)|过敏|不耐受|不能|不可以|不敢|从不|从来不|绝不|坚决不|忌|禁"
    r"|戒|避|拒绝|远离|医生|大夫|只[吃喝穿买坐住看听玩用]|清真|素食|吃素|疹|肿|吐|痒"
)
_REGULAR = re.compile(rf"\b(?:{_OFTEN}|{_EVERY})\b|总是|老是|常|每天|每晚|每早|每周|每次|一般|通常|平时|习惯|天天|向来")

_PRAISE_ZH = re.compile(
    r"离不开|少不了|少不得|百[看吃听喝玩逛]不厌|(?:百|怎么|总也|永远都?|从来)?[看吃听喝玩逛]{1,2}(?:都|也)?不(?:腻|厌|够|烦)|爱不释手|不能没有|不可或缺|乐此不疲|欲罢不能|无法自拔"
    r"|莫过于"
)
_AVERSION_ZH = re.compile(
    r"(?<!差)不(?![过仅但光管论错同])|没(?!事)|(?<![特分区个性级类])别(?![墅致])|无(?![论比糖])|未(?!来)|非(?!常)|[莫勿禁忌避拒恨厌腻吐痒肿疹疼晕躲害嫌逃]|戒(?!指)"
    r"|(?<!哪)怕|(?<!麻)烦|痛(?!快)|过敏|难[受吃喝闻听看熬]|放弃|远离|绕[道开着]|免|急[诊救]|医院|住院|发作|拉肚子|腹泻|反胃|红点|发[麻紧抖闷慌毛怵黑]|喘|胸闷"
    r"|窒息|休克|要[了我].{0,2}命|[送致]命|敬而远之|后悔|遭罪|受罪|苦头|噩梦|阴影|头[大皮]|鸡皮疙瘩|崩溃|抵触|抗拒|除了|[以之]外|胜过|以前|曾|少[吃喝碰去看]"
    r"|恶心|嗓子|喉咙|胃|皱眉|退避|断了|告别|讨人|药|毒|命|医|受罪|煎熬|折磨|不起|倒胃|恐|惧|憎|隔离|但|可[惜是]|然而|只是|却|闹肚|拨|挑[出走掉]|剔|\x02[^，。]{0,4}就|摇头|打喷嚏|流泪|呛|心慌|假装|勉强|才怪|饿|取消|硬着"
)
_BETWEEN_ZH = (
    rf"(?:(?!因|由于|而|比|就|却|之后|以后|看别人|说|饿|绕)[^，。,.;；！!把被掉到走给让{_THING}]){{0,8}}?{_THING}"
)
_LIKES_ZH = re.compile(
    r"(?:喜欢|喜爱|(?<!可)爱(?!人|情|好者|心|惜)|钟情于?|痴迷于?|迷恋|迷上了?|着迷于|享受|偏好|热衷于?|中意|青睐|倾向于?|沉迷于?|更愿意|宁愿|首选|情有独钟)"
    rf"(?:的[^，。]{{0,6}}是)?{_BETWEEN_ZH}"
    rf"|{_THING}(?:一直|始终|永远|绝对)?(?:都)?是我(?:的)?[^，。]{{0,4}}(?:最爱|首选|心头好|心头爱|源泉|爱好|挚爱|本命)"
    rf"|对{_THING}[^，。]{{0,6}}(?:情有独钟|感兴趣|着迷|上瘾|入迷|痴迷|有好感|偏爱|热爱|喜欢)"
    rf"|{_THING}[^，。]{{0,4}}(?:让|令|使)我[^，。]{{0,6}}(?:开心|快乐|放松|幸福|愉快|平静|满足|舒服|安心|治愈|着迷)"
    rf"|{_THING}[，,]?(?:我)?(?:真的|最|特别|很|都|也|超|一直|确实)*(?:喜欢|喜爱|爱[吃喝看听玩]?)(?=[了啊呀！!，,。]|$)"
    rf"|我[^，。]{{0,6}}{_THING}(?:控|迷|粉|党|爱好者|发烧友|的?(?:铁杆)?粉丝)"
)
_HABIT_ZH = re.compile(
    r"(?:总是|总会|老是|常常?|经常|每天|每晚|每早|每周|一般|通常|平时|习惯|天天|周末|早上|晚上|睡前|每个)(?:(?!因|由于|跟|听到|说)[^，。,；把被掉走给让]){0,8}?"
    rf"(?:[吃喝穿坐住看听玩用跑骑走去逛泡做打练买点读来订选]{_BETWEEN_ZH}|{_THING})"
)
_OF_IT = re.compile(r"\b(?:it|its|they|them|their|those|these|that)\b|[它这那]")
_DENIES_THING = re.compile(rf"{_NEGATION}|\b(?:against|avoid\w*)\b|[不没无别非]")


def find_attitude(text: str, *, about: str, attitude: Attitude, wanted: bool) -> Attitude | FactRefusal:
    """Return the attitude to `about` that the turn shows, no stronger than `attitude`, or the reason to refuse it.

    A wanted thing is a like if there is a word of liking, or else a habit if there is one of regular use. An avoided
    thing is a constraint only with a word for the impossible or forbidden, a habit only with a word for the usual, and
    else a dislike.
    """
    opposed = {Attitude.LIKE: False, Attitude.DISLIKE: True}.get(attitude)
    if opposed == wanted:
        return FactRefusal.NEGATION
    # Constraints with a wanted object come from the rules alone, because a model may take a "must not" for a "must".
    if wanted and (attitude == Attitude.CONSTRAINT or _DENIES_THING.search(about)):
        return FactRefusal.NEGATION
    sentences = list(_sentences_about(text, about))
    averse = any(_is_averse(sentence) for sentence in sentences)
    for_others = any(FOR_OTHERS.search(sentence) for sentence in sentences)
    likes = any(_LIKES.search(one) or _LIKES_ZH.search(one) for one in sentences)
    does = any(_HABIT.search(one) or _HABIT_ZH.search(one) for one in sentences)
    if not wanted:
        if (likes or does) and not averse:
            return FactRefusal.NEGATION
        return _weaken(attitude, sentences)
    if averse:
        return FactRefusal.NEGATION
    if for_others:
        return FactRefusal.HOLDER
    if not likes and not does:
        return FactRefusal.UNSUPPORTED
    if likes and does:
        return attitude
    return Attitude.LIKE if likes else Attitude.HABIT


def _weaken(attitude: Attitude, sentences: list[str]) -> Attitude:
    cue = {Attitude.CONSTRAINT: _BOUND, Attitude.HABIT: _REGULAR}.get(attitude)
    return attitude if cue is None or any(map(cue.search, sentences)) else Attitude.DISLIKE


def _is_averse(sentence: str) -> bool:
    return (_AVERSION_ZH if any(map(is_cjk, sentence)) else _AVERSION).search(sentence) is not None


def _sentences_about(text: str, about: str) -> Iterator[str]:
    """Yield the turn's lower-case sentences with a mark in place of the thing, and those after them that refer to it.

    Praise in the form of a negation is replaced with a plain statement.
    """
    begun = False
    for statement in own_statements(text, ()):
        plain = " ".join(statement.text.replace("’", "'").lower().split())
        plain = plain.replace("i'm ", "i am ").replace("i've ", "i have ").replace("we're ", "we are ")
        marked = _mark(plain, about)
        if marked is not None:
            begun = True
            yield _PRAISE_ZH.sub("喜欢", marked) if any(map(is_cjk, marked)) else _PRAISE.sub("i love", marked)
        elif begun and (_OF_IT.search(plain) or len(_WORD.findall(plain)) <= _FEW_WORDS):
            yield plain


def _mark(sentence: str, about: str) -> str | None:
    """Return the sentence with a mark in place of the thing, or None if it doesn't have all of its words."""
    about = " ".join(about.replace("’", "'").lower().split())
    whole = re.escape(about) if any(map(is_cjk, about)) else rf"\b{re.escape(about)}(?:e?s)?\b"
    marked, count = re.subn(whole, _THING, sentence)
    if count:
        return marked
    if any(map(is_cjk, about)):
        places = [sentence.find(character) for character in about if character.strip()]
        if not places or min(places) < 0 or max(places) - min(places) > _MOST_SPAN:
            return None
        return sentence[: min(places)] + _THING + sentence[max(places) + 1 :]
    wanting = set(terms(about))
    words = [word for word in _WORD.finditer(sentence) if wanting.intersection(terms(word.group()))]
    if not words or not wanting <= set(terms(sentence)) or words[-1].end() - words[0].start() > _MOST_SPAN:
        return None
    return sentence[: words[0].start()] + _THING + sentence[words[-1].end() :]
