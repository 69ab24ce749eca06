"""Lists the kinds of things that people choose repeatedly: seats, rooms, transport, food, drink, goods, pastimes.

A chosen object must name one of them, or a quality by which people ask for an alternative, so that errands and idioms
don't count as choices. English words are compared as index terms, Chinese ones as substrings.
"""

from __future__ import annotations

import re

from memory.text.analysis import terms

THINGS = frozenset(
    terms(
        # Seats, tables, rooms.
        "window aisle seat seats booth terrace patio balcony corner table counter room suite bed bunk floor hotel hostel inn motel"
        " guesthouse apartment cabin campsite resort villa pool view sauna smoking non-smoking"
        # Transport.
        " train bus coach tram ferry boat flight plane car taxi bike bicycle subway metro underground scooter carriage sleeper"
        " economy business nonstop direct layover stopover motorway shuttle convertible hybrid automatic manual"
        # Food.
        " meal menu dish soup salad sandwich burger pizza pasta noodles rice curry stew steak beef pork lamb chicken turkey duck ham"
        " bacon sausage meat fish seafood salmon tuna cod shrimp prawns crab lobster oysters mussels sushi sashimi tofu tempeh"
        " vegetarian vegan halal kosher gluten dairy lactose nuts peanuts almonds eggs egg omelette cheese butter cream yoghurt yogurt"
        " bread toast bagel croissant pancakes waffles porridge oatmeal cereal granola fruit apple banana berries mango melon avocado"
        " tomato tomatoes onion onions garlic mushrooms olives cilantro coriander pepper peppers chilli chili ginger spinach kale"
        " broccoli beans lentils potatoes fries chips crisps dessert cake pie ice-cream chocolate cookies pastry honey sugar salt"
        " sauce mayo mayonnaise ketchup mustard vinegar spice spices spicy mild sweet sour breakfast lunch brunch dinner buffet"
        " tasting tapas ramen pho tacos burrito dumplings kebab falafel hummus"
        # Drink.
        " coffee espresso latte cappuccino americano mocha decaf tea chai matcha juice smoothie milk soda cola lemonade water sparkling"
        " ice beer ale cider wine champagne cocktail whisky whiskey vodka gin rum alcohol oat soy straw"
        # Goods.
        " cotton wool linen leather silk polyester denim fur shirt sweater hoodie jacket coat dress skirt trousers jeans shorts shoes"
        " boots sneakers trainers sandals heels hat scarf bag backpack gift-wrapping plastic paperback hardcover ebook audiobook"
        " black white blue red green grey gray brown beige pink purple navy matte unscented scented organic fragrance perfume"
        # Pastimes.
        " comedy drama thriller horror documentary musical anime sci-fi fantasy crime romance novel podcast playlist jazz rock classical"
        " pop techno opera folk hip-hop yoga pilates swim swimming spinning gym hike hiking climbing tennis museum gallery beach nightclub"
        " club bar bars pub karaoke casino cruise tour tours ads spoilers subtitles dubbing"
    )
)
# Words that carry a more specific one: "the vegetarian option".
CARRIERS = frozenset(
    "one ones option options version place restaurant seat seats room table hotel flight car class menu dish meal train bus".split()
)
# Everybody needs these, so they show nothing without a word that says which.
GENERAL = frozenset(
    terms(
        "seat seats table room hotel flight plane car taxi coach class meal menu dish breakfast lunch brunch dinner bed floor apartment"
        " pool suite sauce dessert spices shirt sweater jacket coat dress trousers shoes boots bag backpack hat novel podcast playlist"
        " tour tours water bread shorts jeans book bar club direct counter corner"
    )
)
QUALITIES = frozenset(
    "quieter calmer cheaper cosier cozier warmer cooler milder spicier sweeter saltier lighter darker softer firmer roomier smaller"
    " larger closer nearer healthier greener fresher brighter plainer livelier busier greasier fancier sturdier crowded expensive spicy"
    " sweet salty touristy noisy formal casual modern traditional rustic private secluded spacious central remote relaxed luxurious"
    " adventurous filling fatty greasy oily sour bitter loud bright dark pricey violent scary sad romantic colourful colorful".split()
)
THINGS_ZH = re.compile(
    r"(?:座位?|靠窗|靠过道|靠走道|包间|包厢|大厅|露台|[大双单]床|床房|套房|海景|楼层|民宿|旅馆|青旅|酒店|客栈|无烟|高铁|火车|飞机|动车|地铁|公交|打车|出租|轮船|航班|直飞|商务舱|经济舱|卧铺|软卧|硬卧|自驾"
    r"|菜|饭|面(?![谈试积子])|粥|汤|饺|包子|馒头|饼|粉丝|米粉|米线|火锅|烧烤|烤[肉鱼鸭]|牛排|牛肉|羊肉|猪肉|鸡肉|鸡蛋|鱼|虾|蟹|海鲜|肉|豆腐|豆浆|素|沙拉|披萨|汉堡|寿司|三明治|套餐|自助餐|便当|小吃|甜品|蛋糕|冰淇淋|巧克力|水果"
    r"|辣|葱|蒜|姜|醋|酱|糖|盐|味精|花生|坚果|麻|孜然|咖喱|芝士|奶酪|黄油|奶|咖啡|拿铁|美式|摩卡|浓缩|茶|果汁|可乐|汽水|啤酒|红酒|白酒|酒(?!店)|冰块?$|去冰|少冰|热水|矿泉水"
    r"|[黑白红蓝绿灰粉紫黄]色|棉|羊毛|皮[鞋包衣]|运动鞋|高跟|T恤|衬衫|裙|裤|外套|背包|喜剧|恐怖片|动作片|爱情片|纪录片|科幻|悬疑|动漫|小说|爵士|摇滚|古典|流行|民谣|瑜伽|游泳|跑步|爬山|健身|博物馆|海边|酒吧|夜店|KTV|跟团|自由行)(?:的|味|口味|类|一?侧|那[家种间]|座位|位置|位子|房间|房|票|店|餐厅|之类|什么)*$"
)
GENERAL_ZH = re.compile(
    r"^(?:[靠]?座位?子?|[大双单]?床|床房|包间|包厢|酒店|旅馆|民宿|航班|火车|飞机|打车|套餐|饭|菜|汤|面|水果|小吃|甜品|小说|裙子?|裤子?|外套|衬衫|背包|酒|茶|肉|饼|酱|套房)$"
)
QUALITIES_ZH = re.compile(
    r"^(?:安静|清静|便宜|实惠|清淡|辣|甜|咸|酸|油腻?|腻|吵|吵闹|闹|挤|拥挤|热闹|贵|干净|宽敞|舒服|舒适|僻静|偏僻|暗|亮|明亮|硬|软|淡|浓|健康|素|休闲|正式|轻松|传统|现代|高档|接地气|人少|人多)$"
)
