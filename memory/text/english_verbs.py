"""Recognises finite English verbs by a closed list of common verbs with their regular and irregular forms."""

from __future__ import annotations

AUXILIARIES = frozenset(
    "am is are was were be been being 'm 're 's have has had 've do does did can could will would shall should may might"
    " must ought isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't didn't can't cannot couldn't won't"
    " wouldn't shouldn't mustn't 'll 'd i'm i've i'd i'll we're we've we'd we'll he's she's it's they're they've he'd"
    " she'd they'd he'll she'll they'll it'll that's there's".split()
)
_BASES = (
    "accept add adopt afford agree aim allow announce answer appear apply appoint arrange arrive ask assign attend avoid"
    " bake bank base become begin believe belong bike bill book borrow break bring bruise build buy call camp cancel care"
    " carry catch celebrate change charge chair check choose claim clean climb close coach collect combine come commute"
    " complete consider consist contain contribute cook cost count cover crash create cross cut cycle dance date deal"
    " decide deliver depend deploy design develop die direct discuss dislike divorce do draw dream drink drive drop earn"
    " eat employ end engage enjoy enrol enroll expect expire explain face fail fall feed feel fill find finish fit fix fly"
    " follow forget freeze gain garden get give go graduate grow handle hand happen hate have head hear help hike hire hold"
    " host hurt import improve include increase insist install intend invest invite iron join jog keep know land last lead"
    " learn lease leave lend let like limit line list listen live look lose love lower maintain make manage marry matter mean"
    " measure meet mention mind miss move name need number offer open operate order organise organize own paint park pass"
    " pay perform phone pick plan plant play point post practice practise prefer prepare print promise promote provide"
    " publish pull purchase push put quit raise react read receive recommend recover reduce refuse register relax release"
    " relocate rely remain remember remind remove rename renew rent repair replace report require reschedule reserve reside"
    " resign rest restart retire return review ride rise roast run sail save say schedule see seem sell send separate serve"
    " set settle share ship shop shut sign sing sit skate ski skip sleep smoke solve sound speak spend sponsor stand start"
    " state stay stick stop store stream study subscribe suffer suggest supply support surf swap swim switch take talk teach"
    " tell tend test think throw tip tolerate train transfer travel treat try turn type upgrade use vary view visit"
    " row mend knit sew sail brew bike skate rehearse juggle volunteer vote wait wake walk want warn wash watch wear weigh welcome win wish work worry write"
).split()
# Forms that are a simple past and nothing else, not even the verb's base.
SIMPLE_PAST = frozenset(
    "became began broke brought built bought came caught chose dealt drew drank drove ate fell felt found flew forgot froze"
    " gave went grew heard held kept knew led left lent lost made meant met paid rode rose ran said saw sold sent sang sat"
    " slept spoke spent stood swam took taught told thought threw woke wore won wrote got".split()
)
_IRREGULAR = (
    "became began begun broke broken brought built bought came caught chose chosen cut dealt drew drawn drank drunk drove"
    " driven ate eaten fell fallen fed felt found flew flown forgot forgotten froze frozen gave given went gone grew grown"
    " heard held hurt kept knew known led left lent let lost made meant met paid put quit read ran rode ridden rose risen"
    " said saw seen sold sent shut sang sung sat slept spoke spoken spent stood stuck swam swum took taken taught told"
    " thought threw thrown woke woken wore worn won wrote written dies died lies lay has does goes says"
).split()


def _forms(base: str) -> tuple[str, ...]:
    stem = base[:-1] if base.endswith("e") else base
    third = base + ("es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")
    past, gerund = stem + "ed", stem + "ing"
    if base.endswith("y") and base[-2] not in "aeiou":
        third, past = base[:-1] + "ies", base[:-1] + "ied"
    doubled = base + base[-1]
    return base, third, past, gerund, doubled + "ed", doubled + "ing"


FINITE = frozenset(form for base in _BASES for form in _forms(base)) | AUXILIARIES | frozenset(_IRREGULAR)
# A word of the list is a noun after one of these: "my work", "the start of", "for rent".
NOUN_BEFORE = frozenset(
    "a an the my your his her its our their this that these those some any no every each another other of for in on at"
    " by with from to new old first second next last main weekly daily monthly yearly annual current favourite favorite"
    " home own same whole good big small".split()
)


def is_finite_verb(word: str, before: str) -> bool:
    """Tell whether `word` is a finite verb after the word `before` ("" at the start); both are in lower case."""
    if word in AUXILIARIES:
        return True
    return word in FINITE and before not in NOUN_BEFORE and not before.endswith("'s") and not is_gerund(word)


def is_gerund(word: str) -> bool:
    """Tell whether a lower-case verb is an -ing form, rather than a verb whose base ends so ("sing")."""
    return word.endswith("ing") and word not in _BASES
