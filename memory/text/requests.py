"""Recognises requests for advice, and holds sample requests of all kinds, in English and Chinese.

A request for a hotel shares no word with "I avoid lively places", so preferences are matched to a request by meaning.
The wording of some preferences ("I like good recommendations") makes them similar to every request. Their similarity to
the sample requests is therefore subtracted, as query banks do for texts that are similar to every query (Bogolin et al.
2022, "Cross Modal Retrieval with Querybank Normalisation").
"""

from __future__ import annotations

import re

import numpy as np

from memory.text.sentences import split_sentences

# Longer texts are never requests.
MAX_REQUEST_CHARS = 600
# Number of sample requests, nearest to a preference, that measure how general it is, and the share to subtract.
NEAREST = 3
SHARE = 0.6

REQUESTS = (
    "What should I cook for dinner tonight?",
    "Give me a recipe for the weekend.",
    "Plan my meals for the week.",
    "What could I have for breakfast?",
    "Suggest a dessert for the party.",
    "Where can we eat out tonight?",
    "Which restaurant is good for a birthday?",
    "What local dishes should I try there?",
    "Find a place for lunch near the office.",
    "Which bars and cafes are worth a visit?",
    "Find me a hotel in Rome.",
    "Where should I stay for three nights?",
    "Which resort is good for a family?",
    "Is there an apartment to rent for a week?",
    "Plan a trip to Norway for me.",
    "What is there to do in Bangkok?",
    "Which sights should I see in Paris?",
    "Where should I go on holiday in summer?",
    "What outdoor activities are there in the mountains?",
    "What to do at night in a big city?",
    "How do I get from Vienna to Prague?",
    "Which flight should I book?",
    "How should I commute to work?",
    "Which car should I buy?",
    "Recommend a family car with good mileage.",
    "What motorcycle would suit a beginner?",
    "What accessories do I need for my car?",
    "What movie should we watch tonight?",
    "Recommend a series to binge.",
    "Which documentary is worth seeing?",
    "What theatre play or concert can I see?",
    "Which video game should I play next?",
    "Recommend a board game for four.",
    "What are good games for my phone?",
    "Put together a playlist for the evening.",
    "Which album should I listen to?",
    "What should I read next?",
    "Recommend a novel for the flight.",
    "How should I prepare for the exam?",
    "Which course teaches programming?",
    "How do I learn Spanish quickly?",
    "Give me resources on world history.",
    "What workout should I do to get stronger?",
    "Make me a training plan.",
    "Which sport could I take up?",
    "How can I lose weight?",
    "What skin care routine should I use?",
    "Which shampoo is good for dry hair?",
    "Recommend make-up for an evening.",
    "What perfume would suit me?",
    "What should I wear to a wedding?",
    "Which shoes go with this suit?",
    "Find me a warm winter coat.",
    "Which bag is good for work?",
    "Which pet is right for our flat?",
    "How do I train my puppy?",
    "What should I feed my cat?",
    "How should I furnish the living room?",
    "What plants are good for the balcony?",
    "Which vacuum cleaner is the best?",
    "Which phone should I buy?",
    "What laptop is good for studying?",
    "What app should I use for notes?",
    "Which job should I apply for?",
    "How should I organise my working day?",
    "When should we have the meeting?",
    "How can I sleep better?",
    "What helps against stress?",
    "What present should I give to a friend?",
    "How should we celebrate my birthday?",
    "What can we do together on Saturday?",
    "How should I invest my savings?",
    "How can I spend less?",
    "今晚吃什么好？",
    "推荐一家餐厅吧。",
    "帮我找一家酒店。",
    "周末去哪里玩？",
    "帮我安排一下去成都的行程。",
    "有什么好看的电影？",
    "推荐一本书给我。",
    "我该买哪款手机？",
    "怎么锻炼比较好？",
    "送朋友什么礼物好？",
    "穿什么去参加婚礼？",
    "怎么学好英语？",
)

_ADVICE = re.compile(
    r"\b(?:recommend(?!s\b)\w*|suggest(?:ions?)?|advice|advise|ideas? (?:for|of|on)|any (?:good|tips|ideas|thoughts)|tips (?:for|on)"
    r"|(?:what|which|where|how|who)\b[^.?!]{0,60}\b(?:should|could|can|might|do) (?:i|we)\b|\b(?:i|we) should\b|should (?:i|we)\b"
    r"|(?:what|which|where) (?:is|are|would be) (?:some|innovative|effective|the best|the most|a good|good|great|your|interesting|fun|popular|unique)"
    r"|(?:find|book|get|pick|choose|plan|show|give|make) (?:me|us)\b|help (?:me|us) (?:find|choose|pick|plan|decide|book|select|with)"
    r"|(?:i'm|i am|we're|we are) (?:looking (?:for|to)|planning|thinking (?:of|about)|trying to|considering|hoping to|interested in)"
    r"|(?:i|we) (?:want|need|would like|'d like) (?:to|an?|some)\b|what to (?:eat|do|see|wear|buy|watch|read|cook|bring|get)"
    r"|^(?:plan|book|find|suggest|recommend|pick|choose|order|list|name)\b)"
    r"|推荐|建议|给我(?:找|推|列|安排|规划|出|选|挑|来)|帮[我忙](?:们)?(?:一下)?(?:找|选|挑|订|定|安排|规划|计划|看看|想想|策划|做|列)"
    r"|有什么(?:好|适合|值得|可以|有意思)|(?:哪|什么)[^，。？！]{0,12}(?:好|合适|适合|值得|比较)|去哪|(?:吃|喝|买|看|穿|玩|读|做|送|带)(?:点|些)?什么"
    r"|怎么(?:安排|选|办|玩|去|学|练|做)|该(?:怎么|去|买|选|吃|看|穿|送)|适合我",
    re.IGNORECASE,
)
# Sentences about the past, about what the assistant said, or about other people are not requests.
_NO_REQUEST = re.compile(
    r"\b(?:did|was|were|had|has|does)\b|\bhow (?:many|much|long|old|often)\b|^(?:when|who|why)\b"
    r"|\byou(?:'ve|'d| have| had)? (?:recommended|suggested|told|said|mentioned)\b|(?:什么时候|多少|多久|几[个点号]|谁|上次|之前|为什么)",
    re.IGNORECASE,
)


def asks_for_advice(text: str) -> bool:
    """Tell whether `text` asks for something to be recommended, planned or chosen."""
    if len(text) > MAX_REQUEST_CHARS:
        return False
    sentences = split_sentences(text.replace("’", "'").replace("hat's the", "hat is the"))
    return any(_ADVICE.search(one) and not _NO_REQUEST.search(one) for one in sentences)


def take_generality(near: np.ndarray, vectors: np.ndarray, requests: np.ndarray) -> np.ndarray:
    """Return how much more similar each preference is to the request than to requests of all kinds, from −1 to 1.

    `near` holds the cosines of the preferences to the request. `vectors` [preferences, dimensions] and `requests`
    [requests, dimensions] have rows of unit length. `near` is returned as it is if either of them is empty.
    """
    if not len(requests) or not len(vectors):
        return near
    likeness = np.sort(vectors @ requests.T, axis=1)[:, -NEAREST:]
    return np.asarray(near - SHARE * likeness.mean(axis=1))
