"""English and Chinese patterns for choosing, having the same again, turning down and correcting a suggestion.

Every pattern must match a whole sentence of bounded length; other wordings are not choices. English is matched in lower
case with straight apostrophes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Number of occasions that a choice counts for: a choice that calls itself the usual one counts for two.
ONE, AS_ALWAYS = 1, 2


class ChoiceCue(NamedTuple):
    """A pattern for a whole sentence, whether its group `object` is wanted, and for how many occasions it counts."""

    pattern: re.Pattern[str]
    wanted: bool
    counts: int


def _cue(pattern: str, *, wanted: bool, counts: int = ONE) -> ChoiceCue:
    return ChoiceCue(re.compile(pattern, re.VERBOSE), wanted, counts)


_OPENING = r"^(?:(?:no|nope|nah|yes|yeah|ok(?:ay)?|hi|hello|hey|great|perfect|good|thanks|thank[ ]you|well|hm+|sorry|then|and|actually|alright|all[ ]right)[,!. ]+(?:thanks?[,!. ]+|thank[ ]you[,!. ]+|but[ ])?)*"
_POLITE = r"(?:(?:please|just)[ ]|(?:can|could|would|will)[ ]you[ ](?:please[ ])?)?"
_ENDING = r"(?:[,]?[ ](?:please|then|thanks|thank[ ]you|for[ ]me))*[.!?]*$"
_ARTICLE = r"(?:(?:the|an?|some|my)[ ])"
_OBJECT = r"(?P<object>[a-z][a-z'-]*(?:[ ][a-z'-]+){0,4}?)"
_ALWAYS = r"(?:(?:just[ ])?(?:as|like)[ ](?:always|usual|ever)|(?:just[ ])?(?:the[ ])?same[ ]as[ ](?:always|usual|last[ ]time|before)|like[ ](?:last[ ]time|every[ ]time)|as[ ](?:i[ ])?(?:always|usually)[ ](?:do|have|take|get)|the[ ]way[ ]i[ ]always[ ](?:do|have[ ]it|take[ ]it))"
_BUY = r"(?:book|reserve|order)(?:[ ](?:me|us))?"
_GET = rf"(?:{_BUY}|(?:get|bring|give|find)[ ]me|take|pick|choose|put[ ]me[ ](?:in|on)|i'll[ ](?:take|have|go[ ](?:for|with))|i(?:[ ]have|'ve)?[ ](?:took|take|taken|picked|pick|chose|chosen|choose|booked|ordered|went[ ]with|opted[ ]for|go[ ]with))"
_COMPARED = r"(?:(?:more|less)[ ][a-z-]{4,16}|[a-z]{3,12}(?<!bett)(?<!furth)(?<!oth)(?<!lat)(?<!ev)(?<!nev)(?<!wheth)(?<!eith)(?<!togeth)(?<!numb)(?<!pap)(?<!wat)(?<!numb)(?<!lett)(?<!rath)(?<!ov)er)"

ENGLISH: tuple[ChoiceCue, ...] = (
    # Having the same again.
    _cue(rf"{_OPENING}{_POLITE}{_BUY}[ ]{_ARTICLE}?{_OBJECT}[ ](?:once[ ])?again{_ENDING}", wanted=True, counts=AS_ALWAYS),
    _cue(rf"{_OPENING}{_POLITE}{_GET}[ ]{_ARTICLE}?{_OBJECT},?[ ](?:again,?[ ])?{_ALWAYS}{_ENDING}", wanted=True, counts=AS_ALWAYS),
    _cue(rf"{_OPENING}{_POLITE}{_GET}[ ](?:my|the)[ ]usual[ ]{_OBJECT}(?:[ ]again)?{_ENDING}", wanted=True, counts=AS_ALWAYS),
    _cue(rf"{_OPENING}(?:the|an?)[ ]{_OBJECT},?[ ](?:again,?[ ])?{_ALWAYS},?[ ](?:please|thanks|thank[ ]you){_ENDING}", wanted=True, counts=AS_ALWAYS),
    # Taking something.
    _cue(rf"{_OPENING}(?:i'll|i[ ]will|let[ ]me)[ ](?:take|have|go[ ](?:for|with)|stick[ ]with)[ ](?:the|an?|some)[ ]{_OBJECT}(?:[ ](?:again|instead))?{_ENDING}", wanted=True),
    _cue(rf"{_OPENING}let's[ ](?:take|go[ ]for|go[ ]with|stick[ ]with)[ ](?:the|an?)[ ]{_OBJECT}(?:[ ](?:again|instead))?{_ENDING}", wanted=True),
    _cue(rf"{_OPENING}i(?:[ ]have|'ve)?[ ](?:picked|chose|chosen|went[ ]with|opted[ ]for)[ ](?:the|an?)[ ]{_OBJECT}(?:[ ](?:again|instead))?{_ENDING}", wanted=True),
    _cue(rf"{_OPENING}{_POLITE}put[ ]me[ ](?:down[ ]for|in|on)[ ](?:the|an?)[ ]{_OBJECT}(?:[ ](?:again|instead))?{_ENDING}", wanted=True),
    _cue(rf"{_OPENING}{_POLITE}make[ ](?:it|mine)[ ](?:the|an?)[ ]{_OBJECT}(?:[ ]again)?{_ENDING}", wanted=True),
    _cue(rf"{_OPENING}{_POLITE}(?:book|reserve|order|get[ ]me|give[ ]me)[ ](?:me[ ])?(?:the|an?)[ ]{_OBJECT}[ ](?:instead|rather[ ]than[ ][a-z ]{{3,40}}|(?:and[ ]|,[ ]?)not[ ](?:the|an?)[ ][a-z ]{{3,40}}){_ENDING}", wanted=True),
    # Correcting a suggestion.
    _cue(rf"{_OPENING}{_POLITE}(?:(?:find|show|get|suggest|give|pick|choose|try)[ ](?:me[ ]|us[ ])?)?(?:something|somewhere|(?:an?|the)(?=[ ][a-z -]+[ ](?:one|place|room|hotel|restaurant|seat|option|table)\b))[ ](?:a[ ](?:bit|little)[ ]|much[ ])?(?P<object>{_COMPARED})(?:[ ](?:one|place|room|hotel|restaurant|seat|option|table))?(?:[ ]instead)?{_ENDING}", wanted=True),
    _cue(rf"^(?:no|nope|nah|sorry)[,.!]?[ ](?:thanks?,?[ ])?(?:(?:that|this|it)(?:'s|[ ]is)|(?:they|those)(?:'re|[ ]are))[ ](?:way[ ]|far[ ]|much[ ])?too[ ](?P<object>[a-z-]{{3,14}}){_ENDING}", wanted=False),
    # Turning something down.
    _cue(rf"{_OPENING}no[ ](?:more[ ])?{_OBJECT},?[ ](?:please|for[ ]me|thanks|thank[ ]you|this[ ]time[ ]either)(?:[, ]+(?:please|thanks|as[ ]always|as[ ]usual|again))*[.!]*$", wanted=False),
    _cue(rf"{_OPENING}{_POLITE}(?:(?:find|show|get|suggest|give|order|pick|choose|book|take)[ ](?:me[ ]|us[ ])?)?(?:something|somewhere|anything|one|it|a[ ](?:dish|place|room|hotel|restaurant|menu|pizza|salad|meal|recipe|drink))[ ]without[ ](?:any[ ]|the[ ]|an?[ ])?{_OBJECT}(?:[ ](?:in[ ]it|again))?{_ENDING}", wanted=False),
    _cue(rf"{_OPENING}{_POLITE}(?:leave[ ]out|hold|leave[ ]off)[ ](?:the[ ]|any[ ]|all[ ])?{_OBJECT}(?:[ ]again)?{_ENDING}", wanted=False),
    _cue(rf"{_OPENING}{_POLITE}(?:(?:find|show|get|suggest|give|order|pick|choose|book)[ ](?:me[ ]|us[ ])?)?(?:anything|anywhere)[ ]but[ ](?:the[ ]|an?[ ])?{_OBJECT}{_ENDING}", wanted=False),
    _cue(rf"{_OPENING}(?:please[ ])?(?:don't|do[ ]not|never|stop)[ ](?:suggest(?:ing)?|recommend(?:ing)?|offer(?:ing)?|propos(?:e|ing))[ ](?:me[ ]|us[ ])?(?:any[ ]|the[ ]|an?[ ])?{_OBJECT}(?:[ ](?:again|any[ ]?more|to[ ]me|ever|places|restaurants|dishes|options))*{_ENDING}", wanted=False),
    _cue(rf"{_OPENING}i'll[ ](?:skip|pass[ ]on)[ ](?:the[ ]|any[ ]|all[ ])?{_OBJECT},?[ ](?:thanks|thank[ ]you|again|as[ ]always|as[ ]usual)[.!]*$", wanted=False),
)  # fmt: skip
# Words that never start the name of a thing: "the wrong one".
NO_FIRST = frozenset("wrong right best worst same other first second third last next latter former only new".split())
# Matches a recipient other than the speaker.
FOR_OTHERS = re.compile(
    r"\bfor (?:him|her|them|you|us all|everyone|everybody|somebody|someone|mum|mom|dad|grandma|grandpa|(?:my|our|his|their|the|a|your) (?:\w+ )?(?:wife|husband|partner|mother|mum|mom|father|dad|parents|sister|brother"
    r"|son|daughter|kids?|children|boy|girl|baby|boss|manager|colleagues?|friends?|team|guests?|clients?|customers?|visitors?|neighbours?|neighbors?|grandma|grandmother|grandpa|grandfather|aunt|uncle|cousin|niece|nephew"
    r"|girlfriend|boyfriend|roommate|flatmate|dog|cat|group|staff|family))\b"
    r"|(?:给|替|帮|为)(?:他|她|它|你|您|他们|她们|大家|别人|人家|(?:我|我们|咱)?(?:的)?(?:妈|爸|爷爷|奶奶|外公|外婆|姥姥|老婆|老公|妻子|丈夫|爱人|媳妇|儿子|女儿|孩子|宝宝|姐|妹|哥|弟|老板|领导|同事|朋友|客户|客人|同学|室友|老师|父母|男友|女友|男朋友|女朋友|狗|猫|小[一-鿿]))"
)
# Marks a choice as an exception.
EXCEPTION = re.compile(
    r"\b(?:this (?:time|once)|for once|for a change|just once|only (?:today|tonight)|just (?:today|tonight)|as an exception|exceptionally|(?:since|because|as) (?:they|it|there|the|that|we|someone)|before i|until|unless|rather than wait\w*)\b"
    r"|这次|这回|就一次|破例|换换口味|例外|难得|只有今天|就今天|先(?!生)|暂时|反正|因为|既然"
)
# Matches the vocabulary of games and tales.
PLAYED = re.compile(
    r"\b(?:dungeon|sword|potion|dragon|wizard|goblin|quest|spell|chapter|level|player|enemy|treasure|castle|knight|monster|(?:left|right) (?:door|path|tunnel|corridor)|quiz|option [a-d\d]|answer [a-d])\b"
    r"|地牢|宝剑|药水|巨龙|法师|勇者|魔王|关卡|副本|选项|玩家|剑|宝箱|城堡"
)
# A verb after the object turns a choice into a plan: "I'll take the car to be repaired".
ENGLISH_PLAN = re.compile(
    r"\b(?:to|that|which|who|when|where|if|because|from|until|after|before|while|and|or|is|are|was|were|will|can|has|have|had|off|away|out|up|down|back|apart|seriously|home|yet)\b"
)

_OPENING_ZH = (
    r"^(?:(?:好的?|嗯+|行|可以|那|那么|不|不了|不行|不用了?|算了|谢谢|你好|您好|麻烦|请|哦|对|还是)[，,。！! ]*)*"
)
_ASKS_ZH = r"(?:请|麻烦)?(?:你|您)?(?:就|再)?(?:帮|给|替)?我?(?:就|再)?"
_MEASURE = r"(?:[一两1２2]?[个份杯张间家瓶碗盘件款种套只块支条台])?"
_OBJECT_ZH = r"(?P<object>[^，,。！!？?；;\s]{1,14}?)"
_ALWAYS_ZH = r"(?:(?:还是)?(?:跟|和|像|同|按)(?:上次|上回|往常|平时|平常|以前|之前|每次|老样子)(?:一样|那样)?|照旧|照常|老样子|老规矩|一如既往)"
_END_ZH = r"(?:吧|就好|就行|好了|就可以了?|谢谢|呗|了|啦|哈)*[，, ]?(?:谢谢|麻烦了|拜托)?[。.！!？?~～]*$"
_PICK_ZH = r"(?:订|定|预订|选(?![择举修课手])|点(?![头击开评名])|买|坐(?!下)|要|来|换|用)"

CHINESE: tuple[ChoiceCue, ...] = (
    # Having the same again.
    _cue(rf"^(?:好的?[，, ]*|嗯+[，, ]*|请|麻烦)*{_ALWAYS_ZH}[，,：: ]?{_ASKS_ZH}(?:还是)?{_PICK_ZH}?(?:了)?{_MEASURE}{_OBJECT_ZH}{_END_ZH}", wanted=True, counts=AS_ALWAYS),
    _cue(rf"{_OPENING_ZH}{_ASKS_ZH}{_PICK_ZH}(?:了)?{_MEASURE}{_OBJECT_ZH}[，, ]?{_ALWAYS_ZH}{_END_ZH}", wanted=True, counts=AS_ALWAYS),
    _cue(rf"^(?:好的?[，, ]*|嗯+[，, ]*|那|请)*我?还是(?:老样子[，, ]?)?(?:帮我|给我|替我)?(?:订|定|选(?![择举修课])|(?<=我还是)要|来|点(?![头击开评名])|坐(?!下))(?:了)?{_MEASURE}{_OBJECT_ZH}(?:吧|就好|就行|好了)?[。！!~]*$", wanted=True, counts=AS_ALWAYS),
    # Taking something.
    _cue(rf"{_OPENING_ZH}我(?:就|还是)?选(?![择举出修课手中上])了?{_MEASURE}{_OBJECT_ZH}{_END_ZH}", wanted=True),
    _cue(rf"{_OPENING_ZH}(?:我)?(?:就)?(?:给我|帮我|我)?(?:要|来|点|订)了?[一两1２2][份杯张间瓶碗盘](?!钱){_OBJECT_ZH}{_END_ZH}", wanted=True),
    _cue(rf"{_OPENING_ZH}(?:那)?(?:我)?就(?:要|选|订|点|来|定){_MEASURE}{_OBJECT_ZH}(?:吧|好了|就行)[。！!~]*$", wanted=True),
    # Correcting a suggestion.
    _cue(rf"{_OPENING_ZH}(?:请|麻烦)?(?:帮我|给我|我想|我)?(?:再)?(?:换|找|要|来|订|选|挑|推荐)(?:一?[个家间件款种首部本])?(?:更|再)?(?P<object>[^，,。！!？?；;\s点些好快别新]{{1,6}}?)一?[点些]儿?的(?:地方|餐厅|酒店|房间|位置|座位|馆子|店)?{_END_ZH}", wanted=True),
    _cue(r"^(?:不[，, ]?|不行[，, ]?|不了[，, ]?)?(?:这[个家间]|那[个家间])?太(?P<object>[^，,。！!？?；;\s了好早晚多少快慢大小长短难]{1,4})了?[，,。 ]?(?:换(?:一)?(?:个|家|间|件|款)?)(?:吧|别的|的)*[。！!？?~]*$", wanted=False),
    # Turning something down.
    _cue(rf"{_OPENING_ZH}{_ASKS_ZH}(?:不要|别|不用|不)(?:再)?(?:放(?![心弃假学松手过屁在到下进])|加(?![班油入速载价薪微好戏热急上]))(?:任何)?{_OBJECT_ZH}(?:了|哦|啊)?{_END_ZH}", wanted=False),
    _cue(rf"{_OPENING_ZH}{_ASKS_ZH}(?:不要|别|不用)(?:再)?(?:给我)?(?:推荐|推|选|订)(?:任何)?{_OBJECT_ZH}(?:了|啦)?{_END_ZH}", wanted=False),
    _cue(rf"{_OPENING_ZH}不要{_OBJECT_ZH}[，, ]谢谢[。！!]*$", wanted=False),
    _cue(rf"{_OPENING_ZH}{_ASKS_ZH}(?:换|找|要|来|推荐|订|选)(?:一?[个家间份款种])?(?:没有?|不带|不含|不放|不加)(?:任何)?{_OBJECT_ZH}的(?:菜|店|餐厅|酒店|房间)?{_END_ZH}", wanted=False),
    _cue(rf"{_OPENING_ZH}除了{_OBJECT_ZH}(?:以外|之外)?[，, ]?(?:都|什么都|别的都)(?:行|可以|好)[。！!]*$", wanted=False),
)  # fmt: skip
# Matches words about a thing or an action, which can't be its name.
NO_OBJECT_ZH = re.compile(r"^(?:[这那它你您他她该此哪什怎的是]|上一|下一|第)|[你您他她]")
