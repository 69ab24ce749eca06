"""Lists words in and around English names: words that show the kind of a name, and words that aren't names."""

from __future__ import annotations

import re

CAPITAL = r"[A-ZÀ-ÖØ-Þ]"

# Words that are capitalised for other reasons than being a name.
NO_NAMES = frozenset(
    """i i'm i've i'll i'd monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri
    sat sun
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec english german french spanish italian chinese japanese korean russian american british european
    asian african indian canadian mexican irish scottish portuguese dutch greek turkish arabic latin western eastern
    christmas easter halloween thanksgiving god ok okay tv ai pm am mom dad mum mama papa mommy daddy ma'am sir hey
    hi hello wow
    yeah yes no lol omg btw thanks goodbye good-bye bye congrats aww haha oh ah hmm sounds lgbtq lgbt usd eur gbp
    ceo cto cfo hr faq diy pdf
    internet covid bible user assistant agent system anyone someone everyone""".split()
)
ROLES = frozenset(
    """manager director vp svp officer analyst engineer president senior junior chief head lead designer developer
    consultant
    scientist researcher specialist coordinator assistant executive producer editor architect administrator founder
    investigator supervisor vice team teams department staff phase step week day chapter section part level version
    review session meeting report plan strategy schedule update summary""".split()
)
# Ranks that are part of the name of the person after them.
RANKS = frozenset("sultan king queen prince princess archduke duke president senator emperor pope instructor".split())
ORGANISATION_ENDS = frozenset(
    """inc corp corporation llc ltd gmbh ag plc co company university college institute academy hospital clinic bank
    foundation association agency ministry council church studios labs laboratories group school museum orchestra
    airlines airways motors partners ventures records press society union committee commission federation""".split()
)
PLACE_ENDS = frozenset(
    """river lake canyon mountain mountains park beach island islands falls valley county city bridge square street
    avenue
    road boulevard bay desert peninsula coast ocean sea harbor harbour airport station forest castle palace cathedral
    alps village heights hills creek""".split()
)
PLACE_BEGINNINGS = frozenset("mount mt lake port cape fort".split())
FIRM_ENDS = frozenset("inc corp corporation llc ltd gmbh plc".split())
# Words of forms and buttons.
FORM_WORDS = frozenset("your my our name address number email phone date click button menu tab".split())
# Words before the name of a book, a film, a song or a game.
NEAR_WORK = re.compile(
    r"\b(?:books?|novels?|movies?|films?|tv shows?|series|songs?|albums?|games?|poems?|podcasts?|paintings?|pieces?"
    r"|documentar(?:y|ies)|(?:re-?)?read(?:ing)?|watch(?:ed|ing)?|called|titled|listen(?:ed|ing)?|saw|seen|loved?"
    r"|enjoy(?:ed)?|finished)\b[^.!?\"“”]{0,24}$",
    re.IGNORECASE,
)
OF_A_PROJECT = frozenset(
    """management manager coordination coordinator planning plan plans lead leads leader budget timeline proposal
    overview
    scope structure setup description goals updates team based gutenberg""".split()
)
# Endings of words in plans and headings.
ABSTRACT = re.compile(r"(?:tion|ment|ness|ship|ance|ence|er|or|ing|ity|sis|gy|ware|care)s?$")
NO_THING = re.compile(r"(?:Error|Exception|Warning|[A-Z]s)$|\b(?:Goals?|Tips?|Skills|Steps?|Questions?|Pages?)$")
PROJECT_ENDS = frozenset("project initiative platform".split())
_FAMILY = (
    r"(?:(?:older|younger|little|big|elder|twin|step|half|late|dear|oldest|youngest|best|good|close|old|new|childhood|ex)"
    r"[ -]?)*(?:sisters?|brothers?|siblings?|mother|father|mom|mum|dad|son|daughter|kids?|wife|husband|partner|spouse"
    r"|fianc[eé]e?|cousins?|nephew|niece|grand(?:mother|father|ma|pa|son|daughter)|girlfriend|boyfriend|aunt|uncle"
    r"|friends?|bestie|buddy|pal|roommate|flatmate|neighbou?r|colleague|co-?worker|teammate|boss|mentor|therapist"
    r"|supervisor|manager|teacher|coach)"
)
BEFORE_PERSON = re.compile(
    rf"(?:\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|your|an?|[A-Za-z]+['’]s)\s+(?:\w+\s+)?{_FAMILY},?\s+(?:(?:is|was)\s+)?(?:(?:named|called)\s+)?"
    rf"|\b{_FAMILY}(?:['’]s)? name is\s+|\b[Mm]y (?:English |Chinese |first |full )?name(?:['’]s| is)\s+"
    rf"|\b[Cc]alls? me\s+|\bI go by\s+|\b(?:named"
    rf"|introduced? (?:me to|you to))\s+|英文名字?[是叫为：:]?\s*)$"
)
_PETS = r"(?:dog|cat|puppy|pup|kitten|pet|horse|hamster|rabbit|bunny|parrot|turtle|guinea pig)s?"
BEFORE_PET = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|your|a)\s+(?:\w+\s+)?{_PETS},?\s+(?:(?:is|was)\s+)?(?:(?:named|called)\s+)?$"
    rf"|\b{_PETS}(?:['’]s)? name is\s+$"
)
GREETING = re.compile(
    r"(?:^|[.!?,;]\s*|\b)(?:hey|hi|hello|thanks|thank you|thx|bye|goodbye|congrats|congratulations|sorry|good morning"
    r"|good night|well done|welcome|yeah|yes|wow|sure|absolutely|cheers|good luck|you too|same here|take care),?\s+$",
    re.IGNORECASE,
)
BEFORE_PLACE = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|mov(?:e|es|ed|ing)(?: back| away| out)?|born|grew up|rais(?:ed|ing)|based|settl(?:ed|ing)"
    r"|trip|travel(?:s|led|ling|ed|ing)?|vacation|holidays?|fl(?:y|ew|ying)|drove|road ?trip|resid(?:e|es|ing)|staying"
    r"|stayed|hik(?:e|ed|ing)|relocat(?:ed|ing)|landed|arrived|apartment|house|home(?:town)?|city)"
    r"(?:\s+(?:here|there|over|up|down|all the way))?\s+(?:in|to|from|at|near|around|of|is)\s+$"
    r"|\b(?:visit(?:s|ed|ing)?|explor(?:ed|ing))\s+(?:the\s+)?$"
)
NEAR_PLACE = re.compile(r"\b(?:in|to|from|at|near|around|across|visit\w*|through|outside)\s+(?:the\s+)?$|,\s+$")
BEFORE_ORGANISATION = re.compile(
    r"\b(?:(?:work(?:s|ed|ing)?(?! better| well| correctly| fine| best)|interned|interning|internship|job|position"
    r"|role|employed|contract)(?:\s+\w+){0,3}?"
    r"\s+(?:at|for|with)|(?:graduated|degree|studied|studying|studies|enrolled)(?:\s+\w+){0,3}?\s+(?:from|at)"
    r"|ceo of|founder of|co-?founded|employer is|company(?:,| called| named)|startup(?:,| called| named)"
    r"|hired by|laid off (?:from|by)|sponsored by|deal with|signed with|endorsement (?:deal )?(?:from|with))"
    r"\s+(?:the\s+)?$",
    re.IGNORECASE,
)
AFTER_PROJECT = re.compile(r"['’]?\s+(?:project|initiative)\b")
AFTER_PERSON = re.compile(
    r"(?:['’]s\s+[a-z]|,?\s+(?:said|says|told|asked|asks|thinks|thought|wants|wanted|loves|loved|likes|liked|works|worked"
    r"|lives|lived|is|was|has|had|and\s+I\b|went|came|called|texted|suggested|agreed|will|would|can|could|did|does"
    r"|seems|seemed|mentioned|invited|gave|helped|recommended|joined|started|who|saw|met|made|took|got"
    r"|felt|knew|found|left|bought|won|wrote|flew|ran|drove|grew|spoke|kept|sent|sat|leads?|led|moves|plays|needs|says|knows"
    r"|thinks|studies|no longer|used to|still|also|just|never|always|now|really|[a-z]{2,}ed|and)\b)"
)
SAYS = re.compile(
    r",?\s+(?:said|says|told|asked|asks|thinks|wants|wanted|loves|loved|likes|liked|called|texted|suggested|agreed|invited"
    r"|mentioned|recommended|and I\b)"
)
CAMEL = re.compile(
    r"(?!\w*(?:Error|Exception|Warning)\b)(?:(?:i|e)?[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[A-Z]{2,}[a-z]{2,}[A-Za-z]*|i[A-Z][a-z]+)"
)

# Words that often start sentences, so that their capital says nothing.
OPENERS = frozenset(
    """a an he she they we you it the this that these those my your his her its our their when while after before
    since if although though
    because as at in on by for from with to about and but or so yet also then now today yesterday tomorrow tonight last
    next once maybe perhaps just even still here there how what why where who which is are was were do does did can
    could will would should may might must have has had let please well actually honestly really anyway meanwhile
    however besides additionally finally first second despite during like unlike given use using consider try add meet
    check see call ask tell remember dear both all some many most every each another other not did does great good nice
    awesome amazing cool love loving glad happy totally definitely exactly absolutely right sure welcome bye got good
    luck congratulations enjoy read reading watch watching visit visiting join joining learn learning make making get
    getting go going keep keeping take taking schedule email contact apply discuss review attend hire ensure
    include""".split()
)
