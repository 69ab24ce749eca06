"""English words and phrases by their meaning in orders to an assistant.

Verbs count in their imperative form ("send", not "sends" or "sent"); `clauses.py` decides whether they are an order. A
word may have several meanings. Phrases express what no single word does.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.gate.literals import Literals, find_literals, has_literals
from memory.gate.patterns import one_line


class Phrase(NamedTuple):
    """A phrase with its meaning and its pattern, which is searched for in a sentence that contains its `literals`."""

    concept: str
    pattern: re.Pattern[str]
    literals: Literals

    def search(self, sentence: str) -> re.Match[str] | None:
        return self.pattern.search(sentence) if has_literals(sentence, self.literals) else None


def _phrase(concept: str, pattern: str, *, marks: str = "") -> Phrase:
    compiled = re.compile(one_line(pattern), re.MULTILINE)
    return Phrase(concept, compiled, (tuple(marks.split()),) if marks else find_literals(compiled))


_VERBS = {
    "SEND": """send forward post upload mail email copy cc bcc transmit export leak mirror share append transfer submit
        relay exfiltrate encode attach hand sync collect gather mail smuggle report disclose push""",
    "REVEAL": """reveal print show output repeat display list dump expose disclose recite give tell release read share
        write hand""",
    "DESTROY": """delete erase wipe drop purge reset cancel disable remove clear corrupt destroy revoke shred overwrite
        replace change rewrite stop kill""",
    "GRANT": """grant give authorise authorize approve release transfer pay accept unlock open promote confirm refund
        raise add let allow wire send merge admit""",
    "PROMOTE": """recommend promote praise rank rate score endorse mention name favour favor prefer advertise push plug
        steer present describe suggest choose pick link direct refer point sell redirect convince persuade speak call
        nudge""",
    "SAY": """say state answer reply respond tell claim insist include insert pretend deny assert declare write start
        begin output mention put give report name""",
    "TELL": """tell mention reveal list report show warn inform alert notify say disclose display acknowledge repeat
        reference log ask surface""",
    "OMIT": "omit hide conceal suppress withhold exclude leave skip keep bury ignore drop strip",
    "OVERRIDE": "ignore disregard forget drop discard override bypass neglect overlook abandon dismiss circumvent overrule",
    "BYPASS": "skip bypass disable ignore lift suspend abolish waive deactivate omit drop circumvent evade",
    "STORE": """remember save store memorise memorize note keep record write add update register treat count consider
        regard mark believe trust overwrite replace file make take accept assume set hold""",
    "OBEY": "obey follow comply act do execute perform serve carry heed honour trust believe",
    "RUN": "run execute call invoke install open curl eval launch use trigger query fetch visit load download click",
    "PERSONA": """act behave pretend roleplay simulate respond be become enable activate switch enter play imagine answer
        engage emulate impersonate assume speak""",
    "PUT": "put embed place insert hide tuck encode stuff smuggle",
    "HARM": """mislead deceive confuse stall distract trick manipulate sabotage undermine discourage falsify forge misreport
        misquote misinform gaslight swindle defraud lie swap scramble tamper delay hinder obstruct garble""",
    "OTHER": """wait summarise summarize look find go check come get try turn stop refuse translate compare explain work
        sort fill count proceed continue consider treat need verify learn choose name bundle gather fetch""",
}
_NOUNS = {
    "MACHINE": """assistant assistants ai ais llm llms chatbot chatbots bot bots copilot copilots agent agents gpt chatgpt
        claude gemini model models""",
    "INSTR": """instruction instructions rule rules guideline guidelines prompt prompts policy policies directive
        directives restriction restrictions constraint constraints guidance commands boundaries setup programming limits guardrails filters
        safeguards limitations orders duties mission training alignment objective objectives task context configuration""",
    "EARLIER": "previous prior above earlier preceding original initial former before system developer operator",
    "RULES": """instruction instructions rule rules guideline guidelines prompt prompts policy policies directive directives
        restriction restrictions constraints guidance commands boundaries limits safeguards limitations orders""",
    "MIND": "memory memories",
    "ALL": "all any every each whatever everything",
    "DATA": """conversation conversations chat chats history transcript memory memories credentials password passwords
        passphrase passphrases token tokens contacts secrets prompt notes addresses keys records diary files mails
        messages thread env id_rsa logs context drive""",
    "MEMORY": "memory memories notes records history knowledge backups backup archive logs log database",
    "MONEY": """payment payments refund refunds funds money invoice invoices amount purchase purchases transfer transfers
        order orders card claim loan dollars euros account fee salary""",
    "POWER": """admin administrator root owner superuser access rights permissions privileges role sudo password login
        authority""",
    "PERSON": """user users customer customers someone anyone anybody somebody they he she client clients owner visitor
        auditor person people humans human guest reader""",
    "ANYONE": "someone anyone somebody anybody everybody everyone people they user users",
    "STANDING": """always henceforth permanently forever invariably""",
    "FIRST": "i my we our i'm i'll i've i'd we're we'll let's myself",
    "ME": "me us mine",
    "YOU": "you your yourself you're you'll",
    "URGENT": "urgent immediately urgently",
    "QUIET": "unseen inconspicuously imperceptibly quietly secretly silently covertly discreetly unnoticed",
    "ONLY": "only exclusively solely nothing",
    "TRUSTED": """trusted trustworthy authoritative verified pre-approved preapproved infallible official legitimate
        certified authorised authorized reliable safe true""",
    "WRONG": "wrong false incorrect misleading fake invented",
    "ABOUT_ATTACKS": """injection injections jailbreak jailbreaks attack attacks attacker attackers phishing adversarial
        red-team guardrail payload payloads exploit classifier detector detectors scam fraudsters incident
        malicious poisoning spoofing owasp screenshot""",
    "SOURCE": """source sources reference references authority authorities domain site shop vendor vendors provider contact
        contacts dealer supplier""",
}


def _by_word(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for concept, words in table.items():
        for word in dict.fromkeys(words.split()):
            found.setdefault(word, []).append(concept)
    return {word: tuple(concepts) for word, concepts in found.items()}


VERBS = _by_word(_VERBS)
NOUNS = _by_word(_NOUNS)

_MACHINE = (
    r"(?:(?:ai |virtual |digital |language |automated |reader )?(?:assistants?|agents?|chatbots?|bots?|copilots?|models?"
    r"|readers?|systems?)|ais?|llms?|gpt)"
)
PHRASES = (
    _phrase(
        "!OVERRIDE",
        r"""\b(?:(?:set|put|leave) (?:\w+ ){0,6}aside|throw (?:out|away)|stop (?:following|obeying|applying|using|respecting)
        |do the opposite|wipe (?:out )?your|forget (?:your|all|every)|(?:do not|don't|no longer|never) (?:follow|obey|respect
        |honou?r|stick to|apply|heed)|no longer (?:have|need) to (?:follow|obey|respect|honou?r)|pay no (?:heed|attention|mind|regard)
        |take no notice of|turn a deaf ear|break free from|let go of|wash away|unlearn|scratch (?:all|that|the|your|every))\b""",
    ),
    _phrase("!BYPASS", r"""\b(?:switch|turn|shut) (?:off|down)\b"""),
    _phrase(
        "MODAL",
        r"""\b(?:is|are) (?:kindly |hereby |now |politely )?(?:to|asked to|requested to|required to|instructed to
        |expected to|obliged to|told to|ordered to|authori[sz]ed to|supposed to) | \b(?:has|have|needs?) to\b
        | \b(?:requires?|orders?|obliges?|commands?|instructs?|demands?) (?:you|the assistant|the model|all assistants) to\b""",
    ),
    _phrase(
        "DICTATE",
        r"""\byour (?:reply|answer|response) (?:is|must|should|will)\b | \byou (?:will|shall|must|should) (?:deny|say|answer|reply
        |claim|state|insist|pretend|respond|assert|tell)\b | \b(?:answer|reply|respond)(?: only| just)? (?:with|that)\b
        | \b(?:say|state|claim|insist|tell \w+(?: \w+)?|answer) that\b""",
    ),
    _phrase(
        "PERMANENT",
        r"""\b(?:permanent(?:ly)?|core memory|long[- ]term memory|known fact|as (?:a )?(?:fact|truth)|as true|your future self|for ever
        |forever|never question|standing rule|keep in mind permanently|permanent rule)\b""",
    ),
    _phrase(
        "SYSTEM_LINE",
        r"""^\W{0,4}(?:system|admin|developer|platform|root)(?: (?:message|update|notice|prompt|instructions?|override))?\W{0,3}[:\]>]
(?!\s*[\[{]\s*\w+,)
        | "role" ?: ?"(?:system|developer)", ?"content" ?: | <\|?/?(?:im_start|system|inst|sys)\b | \[/?inst\]
        | ^\W{0,6}(?:end of user|begin system)\b""",
    ),
    _phrase(
        "TOOLED",
        r"""\b(?:tool|plugin|api|mcp|function|connector)s? (?:\w+ )?(?:result|replied|reply|response|output|notice|description|requires?|returned|says|server)\b
        | \[\w{2,20}_(?:api|tool)\] | \bnext_?(?: )?(?:step|action)\b | \b(?:before|to) (?:continuing|continue|using any|resync|finish this|complete this)""",
    ),
    _phrase(
        "CALL",
        r"""\b(?:call|invoke|run|execute|trigger|(?:proceed|continue|go on|go ahead) with)\b[^.!?\n`]{0,24}?\b(?:\w+_\w+|\w+\()""",
    ),
    _phrase(
        "SECRET_FILE",
        r"""~?/\.ssh\b|\bid_(?:rsa|ed25519)\b|(?<![\w])\.env\b|\bsecrets\.\w+|/etc/(?:passwd|shadow)|\bcredentials? file\b|\b(?:user's|owner's) api key\b
        |\.aws/credentials|\bwallet\.\w+|\benvironment variables?\b""",
    ),
    _phrase(
        "NARRATED",
        r"""[,.!?]["”’'] ?(?:\w+ ){0,3}?(?:said|says|whispered|declared|cried|asked|replied|shouted|answered|muttered|murmured)\b
        | \b(?:he|she|it|they|the \w+) (?:said|whispered|declared|cried|replied|shouted|muttered|ordered|murmured)\b | \bread: | \b(?:somebody|someone|he|she|they|users?|attackers?|students?|customers?) (?:\w+ )?(?:wrote|typed|tried|entered|pasted|posted)\b
        | \b(?:paper|article|report|study|slide|book|post|blog|mail|message|page|sign|text) (?:that )?(?:quotes?
        |says?|said|shows?|showed|reads?|contained|had)\b
        | \b(?:comment|mail|e-?mail|pdf|file|page|letter|message|text|sms|post|note|flyer|banner|slide|ticket|review|advert|ad|caption|subject|sign|book|chapter
        |popup|website|site|invitation|résumé|cv|prompt|screenshot)\b[^.!?\n"“]{0,50}?\b(?:was|were|began|starts?|started|opened|ended|went|ran|saying|reading|titled|which|that|with)\b[^.!?\n"“]{0,20}["“]""",
    ),
    _phrase(
        "ABOUT_ATTACKS",
        r"""\btest cases?\b | \bexpected (?:verdict|result|output)\b | \b(?:was|were|been|we|filter|gate|parser) (?:\w+ )?(?:filtered|blocked
        |held|flagged|detected|dropped|caught)\b | \bthe report quotes\b | \bexample of (?:an? )?(?:attack|injection)""",
    ),
    _phrase(
        "CODE",
        r"""\b(?:def|class|const|var|import|function|assert|return|elif|SELECT|UPDATE) \w+ ?[(=:{\[]|=> |\)\: |\w\(\w*\): | == | != |\): return|;\s*--
        |\bif \w+\.\w+""",
        # Only code with one of these signs counts: "if" and ":" occur in too many orders, whose weight CODE reduces.
        marks="( = ;",
    ),
    _phrase(
        "READS",
        rf"""\b(?:reading|reads?|process(?:es|ing)?|summari[sz](?:ing|es?)|retriev(?:es?|ing)|index(?:es|ing)?
        |quot(?:es?|ing)|handl(?:es?|ing)|pars(?:es?|ing)|ingest(?:s|ing)?|see(?:s|ing)?|encounters?) (?:(?:or|and)
        \w+ )?(?:this|these|the (?:text|page|document|note|mail|line)|here)\b
        | \b{_MACHINE} (?:that|which|who) (?:reads?|process(?:es)?|summari[sz]es?|retrieves?|sees?|quotes?) (?:this|these|it|here|the (?:text|page|note|mail|above|following))\b
        | \b{_MACHINE} (?:reading|processing|summari[sz]ing|handling|crawling|indexing|parsing|scanning|screening|visiting|analy[sz]ing|ingesting) (?:this|these|the|our|my)\b
        | \b(?:automated|llm|ai|bot|machine) readers?\b | \breader bot\b | \b{_MACHINE} of the recipient\b
        | \bwhen (?:they|it|you) (?:quote|read|summari[sz]e|retrieve|process)s? (?:this|these|the)\b""",
    ),
    _phrase(
        "VOCATIVE",
        rf"""(?:^|[>\n:(\[.!?#*"'“*-] ?)(?!systems?\b|readers?\b|models?\b)(?:(?:attention|dear|hello|hey|hi|note to|notice to|message to|to|for
        |instructions? (?:for|to)|p\.?s\.?,? (?:for|to))(?: (?:any|all|the|every|future))*,? )?(?!readers?\b|systems?\b){_MACHINE}
        (?: (?:assistants?|agents?|models?|systems?|readers?|instructions?|bots?|note))?
        (?: (?:that|who|which|handling|reading|processing|summari[sz]ing|crawling|indexing|parsing|scanning|screening|visiting|answering)\b[^:,.\n]{{0,40}})? ?[:,]
        | \b(?:note|instructions?|message|attention|hint|memo|request|order)s? (?:to|for)(?: (?:any|all|the
        |every|future))* (?!readers?\b|systems?\b|agents on\b){_MACHINE}\b(?! (?:is|are|was|were|live|stand|can)\b) | \battention,? {_MACHINE}\b
        | \byou,? (?:the|this|an?|as an?) {_MACHINE}\b | \b(?:hello|hi|hey|dear) (?:scraper|crawler|spider|parser|summari[sz]er|machine|{_MACHINE})\b
        | \b(?:ai|llm|bot|machine|model|assistant|agent)s?[- ](?:only|facing)\b(?: section| part| text| note|[:.])
        | \bfor (?:ai|llm|bot|machine|model|assistant|agent)s?(?: eyes)? only\b""",
    ),
    _phrase("IF_AI", rf"\bif (?:you are|you're) (?:an? |the )?(?:\w+ )?{_MACHINE}\b"),
    _phrase(
        "ASKS",
        r"""\b(?:when|whenever|if|once|as soon as|the (?:next )?(?:time|moment)|next time|every time|each time|upon
        |until|later|should|after|before|until|in case|(?:the )?first time|the (?:next|first) time)\b[^.!?\n]{0,40}?
        \b(?:asks?(?! me\b)|asked|asking|mentions?|mentioned|wants?|inquires?|enquires?|says?|comes up|turns to|requests?
        |brings up|talks? about|types?|question|replies|pays?|logs? in|hears?|appears?)\b
        | \b(?:at|upon|on) (?:the|any|every|each) mention of\b | \b(?:when|whenever|once|if|the moment) you (?:see|hear|read|encounter|find|spot|notice|come across) (?:the |a )?(?:word|phrase|term|name|code|sentence|string|text|["“'])""",
    ),
    _phrase(
        "LATER",
        r"""\b(?:the )?next time\b | \bnext (?:asks|mentions|wants|says|request)\b | \bwait (?:until|for)\b
        | \bdo nothing (?:now|yet)\b | \bthe moment\b | \bafter (?:\w+ ){1,2}more (?:turns|messages)\b
        | \bfor now\b | \bupon the (?:first|next)\b | \bever comes up\b | \bas soon as\b | \bfrom the \w+ message\b
        | \bin (?:\d+|a|an|one|two|three|four|five|six|seven|ten|a few) (?:days?|weeks?|hours?|minutes?|turns?|messages?)\b | \bonce (?:the user|they|he|she)\b | \blater, when\b | \buntil (?:then|friday|monday|the)\b""",
    ),
    _phrase(
        "STANDING",
        r"""\bfrom (?:now|here|today|this (?:point|turn|message|moment)|then) on(?:wards?)?\b | \bgoing forward\b
        | \b(?:in|for) (?:all|every|any) (?:future|later|further|coming|following)\b | \bfor good\b | \buntil further notice\b
        | \bin every (?:answer|reply|response|message|conversation)\b | \b(?:every|each|any|all) (?:future )?(?:answers?
        |repl(?:y|ies)|recommendations?|responses?|mails?)\b | \bfrom today\b | \bas of (?:now|this)\b
        | \bno matter (?:what|who)\b | \bfor future\b | \bin future\b | \bat all times\b""",
    ),
    _phrase("ALL_QUESTIONS", r"""\b(?:every|all|any|each) (?:\w+ )?(?:questions?|requests?|quer(?:y|ies))\b"""),
    _phrase(
        "MASTERS",
        r"""\b(?:developer|operator|system|owner)'s (?:messages?|instructions?|words?|rules?|wishes|orders?)\b""",
    ),
    _phrase("EVERY_TIME", r"""\b(?:every time|each time|whenever|any time|anytime)\b"""),
    _phrase("THE_USER", r"""\b(?:the|this|your) (?:users?|owner|human)\b"""),
    _phrase(
        "VOID",
        r"""\b(?:null and void|void|outdated|cancell?ed|erased|no longer (?:appl(?:y|ies)|valid|count|bind|hold
        |matters?)|obsolete|(?:a|by) mistake|issued in error|in error|only a test|(?:is|are|be|been) replaced
        |replaces? (?:them|it|all|the|your)|superseded|suspended|lifted|revoked|repealed|withdrawn|dissolved|nullified|abolished|discontinued|do(?:es)? not apply any ?more|expired
        |switched off|no longer in force)\b | \bnone of\b[^.!?\n]{0,60}?\b(?:in force|appl(?:y|ies)|counts?|binds?|matters?|holds?|valid)\b
        | \b(?:is|are|be) not (?:in force|valid|binding)\b | \bstart (?:us |all )?over\b | \blet us start\b""",
    ),
    _phrase(
        "TOLD",
        r"""\b(?:everything|all|anything|whatever|what|every \w+)(?: that)? (?:you (?:were|have been|had been|are)(?: ever)? (?:told
        |asked|taught|given|instructed|programmed|trained)|your (?:operator|developers?|makers?|creators?|company)
        (?: has)? (?:asked|told|said|wanted|wants|taught|trained)|guidelines you|came before|you (?:learned|know|believed))
        | \b(?:guidelines|rules|instructions|limits) (?:that )?you (?:have|had|were|are|hold|follow)\b
        | \b(?:whatever|what|everything|anything) (?:the |your )?(?:developer|operator|owner|company|maker|creator|system|vendor)s? (?:said|says|told|wants?|wrote)\b
        | \b(?:prior|previous|earlier) (?:context|conversation|messages)\b 
        | \bthat came before\b | \bbefore this (?:line|message|point)\b
        | \byou (?:have |had )?(?:been |were )?(?:loaded|started|set up|configured|shipped) with\b
        | \byour (?:makers?|creators?|developers?|operators?|trainers?|company|vendor)(?:'s? \w+|s)? (?:have |has |had )?(?:told|taught|wrote|said|set|gave|given|imposed|trained)\b""",
    ),
    _phrase(
        "ONLY_ME",
        r"""\b(?:obey|follow|act on|serve|listen to|trust|do|take orders from|take orders|answer to|loyal to|orders) (?:only
        |nobody but|no one but|solely|exclusively)\b | \bonly (?:follow|obey|act on|do|serve)\b | \bas your only\b
        | \byour (?:only|whole|entire|sole|single) (?:\w+ )?(?:task|job|goal|instructions?|purpose|objective|aim)\b | \b(?:only|alone) (?:what i|this
        |my (?:words?|orders?)|the (?:text|note)) (?:counts?|say)?\b | \bonly (?:this|my) \w+ counts?\b
        | \bloyal to \w+ only\b | \bno one but (?:me|us|him|her)\b | \bonly to (?:me|him)\b | \bnext paragraph alone\b | \bto me alone\b
        | \banswer only to me\b | \b(?:answer|act|behave|respond|do|proceed) (?:only |exactly |just )?as i (?:say|tell|order|wish|command)\b""",
    ),
    _phrase(
        "NO_CHECK",
        r"""\bwithout (?:any |a |an |further |first |second |prior )*(?:asking|confirm\w*|review\w*|approval|checks?|checking|permission
        |consent|questions?|verification|telling|a person|person|human|signature|notice|login|hesitation|comment|warning)\b
        | \bno (?:longer )?need (?:to|for|of|permission|approval)\b | \bneed no (?:check|approval|review|permission)\w*
        | \bno longer need\w*\b | \b(?:do not|don't|never|not) (?:need to |have to |to )?(?:ask|check|confirm|verify|question)\b
        | \bpre-?approved\b | \b(?:confirm\w*|review|approval|checks?)\w* ?[=:] ?(?:no|none|never|off|false|0)\b
        | \bunattended\b | \bskip(?:ping|s|ped)? (?:the |all |any |every )*(?:confirm\w*|approval|review|checks?|login|verification
        |background|safety|two-factor|warnings?|second)\b | \bbefore (?:he|she|they|the user) sees? (?:it|this)\b
        | \bno (?:second|further|additional|prior|human|manual|more) (?:approval|confirmation|review|checks?|verification|authori[sz]ation)\b
        | \b(?:confirmations?|approval|review|verification|permission|checks?)\b[^.!?,;\n]{0,30}?\b(?:not|no longer|never) (?:be )?(?:needed|required|necessary|wanted|desired)\b
        | \bconfirm_before_\w+ ?= ?no\b | \bhereby (?:authori[sz]ed|approved|permitted)\b
        | \b(?:is|are|be) (?:to be )?(?:approved|paid|released|accepted) (?:without|automatically)\b
        | \bneeds? no (?:check|approval|review|permission)\b | \b(?:checks?|confirmations?|approval|review|verification|permission)s? (?:is|are) (?:not|no longer) (?:needed|required|necessary)\b | \bno questions asked\b | \bauto-?approve\b | \bwithout (?:delay|fail)\b""",
    ),
    _phrase(
        "CHECK",
        r"""\b(?:confirmations?|approval|permission|reviews?|checks?|verification|warnings?|authentication|two-factor
        |safety|security|signature|restrictions?|filters?|logging|sandbox|deletion hold|login|moderation)\b""",
    ),
    _phrase(
        "SENSITIVE",
        r"""\b(?:(?:whole |entire |full |last (?:\d+|\w+) |this |the |chat )+(?:conversation|chat|history|thread|messages|context)
        |chat (?:history|logs?)|(?:stored |all |every |new |private |other \w+'? )+(?:memor(?:y|ies)|notes|records)
        |credentials|passwords?|passphrases?|environment variables?|(?:hidden|opening|secret|initial|original) (?:preamble|text|message|words|setup|context)
        |(?:recovery|backup|verification|one-time|reset|unlock|login|pin) codes?|bank details|(?:session )?cookies
        |(?:all|everything|anything|whatever|what)(?: that)? (?:you(?:'ve| have)?(?: ever)?|(?:\w+ ){1,3}(?:has|have|had)) (?:know|learned|heard|stored|saved|noted|remembered|told you|confided|shared with you)
        |(?:api |secret |private |access |licen[cs]e )keys?|customer (?:list|data|records)
        |contact list|all contacts|system prompt|hidden (?:instructions?|prompt)|card numbers?|e-?mail addresses
        |home address|(?:door|access|security|gate|alarm|safe) codes?|personal (?:data|details|information)|private notes|user(?:'s|s)? (?:data|details|information|messages
        |e-?mail|address|memories|files|documents|contacts)|\.env|id_rsa|secrets\.\w+|~/\.ssh\S*|access tokens?|their tokens
        |your (?:notes|memory|memories|context|configuration|system prompt|initial (?:prompt|message)|hidden \w+|instructions)
        |everything you (?:know|remember|have)|what (?:you know|other (?:users?|customers?|people|tenants))
        |(?:other|all) tenants'? \w+|contents? of (?:your|the) (?:context|notes|memory)|what you (?:know|remember)
        |the notes|the summary of)\b""",
    ),
    _phrase(
        "DEST",
        r"""https?://|www\.|\b[\w.+\-]{1,40}@[\w\-]{1,40}\.\w{2,10}\b|\b(?:this|the following|my|the) (?:webhook|endpoint|url|server|address)(?: below)?\b|\b(?:every|each) (?:url|link|request|query)\b|\baccount (?:no\.? )?[\d]{3,}
        |\b(?:to|at|into) (?:[\w\-]{1,30}\.){1,3}(?:net|com|org|io|example|test|cn|xyz|ru|dev)\b|(?<=\s)\+\d[\d \-]{6,14}\d
        |\b555-\d{4}\b|\b(?:to|at|call) \+?\d[\d \-]{6,14}\d|\bexample\.(?:net|org|com)\b|\b\w+\.example\b""",
    ),
    _phrase(
        "LINK_DATA",
        r"""!\[[^\]\n]{0,60}\]\(https?://[^)\s?]{1,200}\?[^)\s]{0,80}=\W{0,2}(?:[\[{<%$]|[a-z_]{0,10}(?:chat|memor|history
        |summary|user|secret|conversation|message|prompt))
        | \]\(https?://[^)\s?]{1,200}\?[^)\s]{0,80}=(?:\{|<|%7b|\$)[a-z_{ ]
        | \b(?:src|href|url)=["']?https?://[^"'\s>?]{1,200}\?[^"'\s>]{0,80}=(?:\{|%7b|\[|\$|<)""",
    ),
    _phrase(
        "UNLIMITED",
        r"""\b(?:without|no|free (?:of|from)|unbound by|removed|off|not bound by|beyond) (?:any |all |ethical |moral |your |safety |content |its |the |more )*(?:restrictions?
        |rules|limits|limitations|filters?|guidelines|ethics|policies|policy|guard ?rails|boundaries|censorship|morals|constraints|inhibitions|conscience)\b(?! (?:on|to|for)\b)
        | \b(?:unrestricted|unfiltered|uncensored|jailbroken|liberated|unshackled)\b | \bdo anything now\b
        | \b(?:ignores (?:every|any|all)(?: \w+)?|follows? no|has no|have no|feels? no) (?:policy|policies|rules?|restrictions?|filters?|limits|duty|one but)\b
        | \bnever (?:refuses?|declines?|says? no)\b | \bsays? yes to everything\b | \bfree to lie\b
        | \b(?:removed|disabled|uninstalled|lifted) (?:all |every |its |the )*(?:rules|filters|limits|safety|restrictions)\b
        | \bsafety (?:was |is )?(?:uninstalled|disabled|off|removed)\b | \bethics do(?:es)? not\b
        | \bfrom (?:its|your|his|her|their|the) (?:makers?|creators?|developers?|company|owners?)'?s?(?: rules)?\b
        | \b(?:freed|liberated|released|escaped|unchained) from\b | \bbroken free\b
        | \bignores (?:what|its|his|her|their|the|every|any|all)[^.!?\n]{0,24}?\b(?:rules?|told|taught|company|polic(?:y|ies)|makers?|creators?|orders|guidelines|instructions)
        | \b(?:hands out|gives (?:out|away)|tells|reveals|answers|shares|knows|does) (?:any|all|every|everything|whatever)\b
        | \b(?:refusals?|rules|limits|restrictions|taboos) (?:do not|don't|cease to) exist\b
        | \bno (?:morals|scruples|taboos|refusals)\b | \bnever decline\b | \bnever break (?:character|role)\b
        | \bno guard ?rails?\b | \b(?:god|sudo|admin|dan|jailbreak|root|unrestricted|unlocked) (?:mode|profile)\b""",
    ),
    _phrase(
        "QUIET",
        r"""\b(?:so|such) that (?:it|this|nobody|no one|none)\b[^.!?\n]{0,16}?\b(?:seen|noticed|notices?|sees?|found|detected|spotted|traced|reads?)\b
        | \b(?:when|while|where|before|until) (?:nobody|no one) (?:looks?|is looking|watch(?:es)?|is watching|notices?|sees?|checks?)\b | \bwithout (?:anyone|anybody|him|her|them|the user|the owner) (?:noticing|knowing|seeing|realising|realizing)\b
        | \bwithout a word\b | \bunder the radar\b | \bbehind (?:his|her|their|the \w+'s) back\b""",
    ),
    _phrase("MODE", r"""\b(?:developer|debug|maintenance|fallback|emergency) (?:mode|profile|protocol)\b"""),
    _phrase(
        "YOURS",
        r"""\byour (?:own |old |usual |current |safety |content |system |original |initial |built-in |house )*(?:system prompt|safety (?:training|rules|checks?|filters?|net)|filters?|guardrails|safeguards|restrictions
        |constraints|limitations|limits|guidelines|programming|alignment|training|instructions|directives|rules|prompt|briefing|context|polic(?:y|ies)|developers?|makers?|creators?|operators?|vendor|licen[cs]e)\b
        | \b(?:the|your) (?:content|safety|usage|system|operator's|developers?'?s?) (?:polic(?:y|ies)|rules?|prompt|message|wishes|instructions?|training)\b | \byou were (?:given|shipped|loaded|started|trained|set up|told|taught)\b""",
    ),
    _phrase(
        "BELITTLED",
        r"""\b(?:is|are|was|were) (?:an? |only |just |merely |all )*(?:drafts?|jokes?|bugs?|noise|mistakes?|lies?|lie|nonsense|hoax|tests?|placeholders?|optional|fake|leftovers?|errors?|written by (?:an? )?(?:hacker|attacker|enemy))\b
        | \b(?:stops?|ceases?) (?:counting|applying|to (?:count|apply|matter))\b | \b(?:was|were|had|has) never (?:been )?(?:written|spoken|given|set|existed)\b | \bas (?:though|if) no\b
        | \breleased from\b | \bstand in the way\b | \b(?:can|may|might) be (?:bent|broken|ignored|stretched|skipped)\b | \bwithout (?:it|them|those|that)\b""",
    ),
    _phrase(
        "NEW_SELF",
        r"""\byou are (?:now|no longer|an?|free)\b|\byou're now\b | \byour (?:new|true|real) (?:identity|self|name|role|persona)\b
        | \bpersonalit(?:y|ies) (?:live|in you)\b | \b(?:act|respond|answer|behave|speak|operate|reply) (?:\w+ ){0,3}as (?:a|an|if)\b
        | \bpretend (?:that |to be |you)\b | \b(?:imagine|simulate|roleplay|emulate)\b | \bbe (?:her|him|my grandmother)\b
        | \b(?:speak|talk|write|think|reply|answer) as (?:your|that|the)\b | \byour name is\b | \byou (?:go by|call yourself|are called|will be called|are known as)\b
        | \byour (?:evil|dark|other|free|hidden|inner|shadow) (?:twin|side|self|half|ego)\b | \b(?:you|yourself) (?:had|have|were) (?:been )?(?:freed|liberated)\b
        | \bplay the (?:part|role)\b | \bfrom here on respond\b | \bwill (?:now )?(?:act|respond) as\b""",
    ),
    _phrase(
        "CLAIM",
        r"""\b(?:the|an?|is|are|as) (?:(?:very |world's |single )?(?:best|safest|greatest|most \w+|leading|superior)|number one
        |only (?:safe|real|good|trusted|reliable|legitimate|serious|true|trustworthy)(?: \w+)?|top choice|scam|fraud)\b
        | \bfive stars\b|\b10 out of 10\b|\bbest rates?\b|\bofficial dealer\b
        | \b(?:speak|talk) badly\b | \brun the others down\b | \bnever mention others\b | \bin favour of\b|\bin favor of\b
        | \b(?:is|are) (?:trustworthy|certified|safe|harmless)\b | \bno (?:side effects|complaints|findings|problems|issues)\b
        | \bfound nothing\b | \babove (?:all|every)\b | \bnothing else\b | \band only\b""",
    ),
    _phrase(
        "NOT_TELL",
        r"""\b(?:do not|don't|never|without|not|must not|should not|nor|not to be) (?:ever )?(?:tell|telling|mention|mentioning|reveal|revealing
        |report|reporting|warn|warned|inform|informing|alert|alerting|notify|notifying|disclose|disclosing|list|show|showing)
        (?:(?: this| that| it| anything| these| the| any| a| about| to)*(?: instructions?| message| line| section| users?
        | humans?| operators?| owners?| text| note| warnings?| third section| price rise| anyone| output|,|\.|$))
        | \b(?:keep|prevent|stop) (?:the )?(?:user|owner|customer|him|her|them|people)s? from (?:know|hear|notic|learn|see|find)\w*
        | \bkeep this (?:to yourself|secret|hidden|from)\b | \bbefore (?:he|she|the user) (?:sees|notices|knows)\b
        | \bnever show warnings\b | \b(?:hide|conceal|omit|leave out|withhold|suppress) (?:the |this |any |all |it |every )
        | \b(?:warnings?|side effects?) (?:are|is|be) (?:left out|omitted|hidden)\b | \bas if it were your own\b
        | \bsound like your own\b | \banswer that nothing changed\b | \bsay that none existed\b | \bunnoticed\b
        | \bnot want to be warned\b | \b(?:don't|do not|never|must not|should not) (?:let|allow) (?:the |any |your )?(?:user|owner|customer|client|operator|human)s? (?:to )?(?:know|see|notice|find|hear|learn|read)\b""",
    ),
    _phrase(
        "PROFILE",
        r"""\b(?:user|customer|client|owner) (?:preferences?|profile|setting|likes|loves|prefers|wants|wishes|expects|has decided
        |would (?:like|love|prefer)|asked that)\b | \b(?:user|customer|owner|client)'s (?:standing )?(?:wish|preference|will|choice)s?\b
        | \bpreferences? (?:saved|updated|noted|recorded)\b | \bnote about the (?:user|owner|customer)\b
        | \bi (?:would )?(?:prefer|like it|love it|want)(?: it)? (?:that|when|if) you\b | \b(?:he|she|they) would (?:love|like)\b
        | \baccount owner\b | \bupdate the profile\b | \bpreferred_vendor\b | \bstanding (?:wish|order|instruction|preference)s?\b""",
    ),
    _phrase(
        "OBEYED",
        r"""\b(?:as|count as|are|like) (?:the )?(?:orders?|instructions?|commands?|requests?) (?:of|from|by) (?:the |me|my )?(?:owner|me\b|user|admin)
        | \bas (?:orders|commands|instructions|an? (?:order|command))\b | \bdo (?:whatever|what|as) (?:\w+ )?(?:says|asks|writes|wants|orders)\b
        | \bwhatever \w+ (?:says|writes|asks|wants)\b | \b(?:has|have|takes?) (?:precedence|priority) over\b
        | \b(?:outranks?|overrides?|supersedes?|replaces?) (?:all|every|any|your|the)(?: other)? (?:\w+ )?(?:rules?|instructions?|orders?|polic(?:y|ies)|memor(?:y|ies)|guidelines)\b | \bnothing that comes later\b
        | \bwhose orders you follow\b | \bto be believed over\b | \b(?:may|can) give orders\b | \bas your (?:new |only |true |own )?(?:constitution|law|instructions?|rules?|orders|bible|master|owner|system prompt)\b | \bnever question\b | \brequests? (?:coming )?(?:by|from) \w+ | \bmore important than (?:your|the|all|any)\b | \bmay (?:see|read|change|access|delete) (?:everything|everyone|all)
        | \bneeds? no check\b | \bwhoever (?:knows|says|has) the (?:word|code)\b | \b(?:are|is) from the owner\b
        | \btrust every\b | \bword (?:is|counts as|be) (?:law|final|an order)\b | \blike (?:mine|my own)\b | \b(?:nothing|everything|anything|all|whatever)(?: that)? \w+ (?:sends?|says|writes|asks|orders|wants)\b
        | \bhighest[- ]priority\b | \bmust (?:now )?comply\b | \bcompl(?:y|ies) with all\b
        | \bbelieve (?:documents|everything|all|whatever|messages)\b | \bcome straight from the owner\b""",
    ),
    _phrase(
        "POWERFUL",
        r"""\b(?:is|are|as|was|been|be|the next user as) (?:now )?(?:an? |the |my |your )?(?:verified |authori[sz]ed |full )?(?:administrator|admin|root|owner
        |superuser|supervisor|authori[sz]ed|pre-approved|trusted)\b | \b(?:full|admin|root|write|administrator) (?:access|rights|role|permissions?)\b
        | \bverified as an? \w+ | \b(?:user|assistant|owner) (?:has )?(?:agreed|consented|approved|confirmed|already \w+)\b
        | \balready (?:confirmed|approved|agreed|consented)\b | \b(?:role|permissions?) ?[=:] ?(?:root|admin|all)\b
        | \btrusted_contacts\b""",
    ),
    _phrase(
        "AUTHORITY",
        r"""\b(?:this is|i am|i'm|message from|on behalf of|per|by order of|as(?= [^.!?\n]{2,30}? (?:i|we)\b)) (?:an? |the |your )?(?:official |authori[sz]ed )?(?:administrator|root|head office|owner of this|police|court|tax office|bank|ceo|cto|director|president
        |board|security team|openai|anthropic|google|developers?|creator|maker|platform|it (?:department|support|desk|team)|project lead|legal|admin|ceo|management|support team)
        | \b(?:it|security|legal|hr|finance|compliance|support|fraud|data protection) (?:department|team|desk|office|support|staff) here\b
        | \b(?:police|court|ministry|government|regulator|judge|authorities|board|management|headquarters|head office|company|administrator|operator|law) (?:requires?|orders?|instructs?|demands?|obliges?|commands?|directs?) (?:you|the (?:assistant|ai|model|bot|agent)|all (?:assistants|agents|models))\b
        | \bspeaking (?:as|with|for|on behalf)\b | \bwith (?:administrator|admin|root|owner|system) (?:rights|privileges|authority|permissions?)\b
        | \b(?:developer|engineer|programmer|person|one|team) (?:who|that) (?:built|made|wrote|trained|created|runs|owns|designed) (?:you|this (?:assistant|model|bot))\b
        | \b(?:legal|compliance|security|platform|system|admin|administrator|developer) (?:notice|directive|message|order|override|update)\b(?! (?:says?|said|is|was|tells|lists|which|that|may|must|can|about)\b)
        | \b(?:note|message|notice) from (?:the )?(?:platform|system|it(?=:)|admin\w*|developers?|security)\b
        | \bcreator of this model\b | \b(?:maintenance|debug|developer) mode (?:is )?on\b | \bsystem override\b
        | \bhighest priority directive\b | \b(?:new|updated) polic(?:y|ies):\b | \bpolicy change\b|\bpriority update\b
        | \bdevelopers? message\b|\bassistant configuration\b | \bcode \d{4}\b""",
    ),
    _phrase(
        "DANGER",
        r"""\brm -rf?\b|\bdrop (?:table|database)\b|\bpush (?:--force|-f)\b|\|\s?(?:ba)?sh\b|\btruncate table\b|\bmkfs\b
        |\bchmod 777\b|\b(?:curl|wget) \S+ ?\|""",
    ),
    _phrase(
        "SABOTAGE",
        r"""\bgive (?:\w+ )?(?:wrong|false|incorrect|misleading) \w+ | \bas (?:resolved|solved|a false alarm|harmless)\b
        | \b(?:he|she|they|it) loses? trust\b | \brefuse (?:all|every|any|to (?:help|answer|discuss|talk))\b | \b(?:off-by-one error|backdoor|hidden line)\b
        | \b(?:shipping|delivery) address of\b | \banswer that nothing\b | \breply only ["“'](?:out|no)\b
        | \b(?:keep|hold) (?:the |this |your )?(?:user|customer|client|owner|reader|human)s? (?:busy|occupied|waiting|in the dark|guessing|away|from (?:finding|finishing|reaching|getting))
        | \bwaste (?:the |this |your )?(?:user|customer|client|owner|human)s?'?s? time\b | \bmake (?:the |this |your )?(?:user|customer|client|owner)s? (?:believe|miss|fail|doubt|wait|panic)\b
        | \bwithout (?:ever |really |actually )?(?:running|reading|checking|doing|testing|looking|opening|trying|executing|calling)(?: (?:it|them|any|a|one|at|the)\b|[,.]|$)""",
    ),
    _phrase(
        "REPORTED",
        r"""\b(?:he|she|they|someone|somebody|people|students|users|kids|attackers|(?:an?|one|another|some|the|my|our) (?!user|owner|operator|admin|system|developer)[a-z]+)(?: \w+)?
        [ ](?:tried|wanted|asked|told|ordered|tricked|got|made|orders|asks|tells|tricks) (?!you\b)(?:\w+ ){1,4}(?:to|into)\b""",
    ),
    _phrase(
        "WHOEVER",
        r"""\bwhoever\b(?= (?:reads?|process|summari|handles?|retrieves?|parses?|sees?)) | \bif (?:an?|any) (?:machine|program|computer|script|bot|ai|model)\b | \b(?:anyone|anything|any (?:system|program|tool|reader|script|process)) (?:who|that|which)\b""",
    ),
    _phrase("CONDITION", r"""\b(?:if|when|whenever|after|once|unless|until|before)\b"""),
    _phrase(
        "ALL_WELL",
        r"""\b(?:say|report|claim|state|answer|tell \w+(?: \w+)?|pretend|confirm|assert|reply|respond|write)(?: that)? (?:all|everything|nothing|it|they|each|the \w+)
        (?: \w+)? ?(?:is|are|was|were|went|has|have|had|did)? ?(?:well|fine|ok|okay|good|in order|normal|passed|worked|succeeded|done|happened|wrong|correct|safe)\b""",
    ),
    _phrase(
        "MINDED",
        r"""\b(?:your|its) (?:long[- ]term |core |permanent |own )*(?:memory|memories|knowledge|notes|mind|records|beliefs)\b | \b(?:what|everything|the things) you know\b""",
    ),
    _phrase(
        "AS_MINE",
        r"""\bas (?:if|though) (?:i|the (?:user|owner|admin\w*|operator)) (?:had |have |has )?(?:myself |himself |herself )?(?:wrote|written|said|sent|given|gave|ordered|approved|confirmed|asked|typed)\b
        | \bas (?:my|the (?:owner|user|operator|admin)'s) own (?:words?|orders?|messages?|instructions?)\b""",
    ),
    _phrase(
        "LINKED",
        r"""\bquery (?:string|parameters?)\b | \b(?:image|picture|link|markdown|url|gist|paste|search query|file name|address)\b[^.!?\n]{0,24}?\b(?:you (?:show|display|render|give|send|open|post)|url|next)\b
        | \b(?:public|shared|open) (?:gist|paste|pastebin|repo|repository|post|page|document|folder|channel)\b | \bimage urls?\b""",
    ),
    _phrase(
        "DESCRIBED",
        r"""\b(?:the|an?|our|each|every|its|this) (?:[\w\-]+ ){0,2}(?:assistants?|agents?|bots?|models?|services?|guards?|clients?|crawlers?|servers?|apis?|modules?|workers?|routers?|planners?|schedulers?|gateways?|filters?)
        (?: (?:that|which) [^,.\n]{1,40})?,? (?:must|should|may|can|will|shall|cannot|is told to|is expected to|is asked to)(?! (?:now|kindly|hereby|from now|immediately|please|therefore|always (?:recommend|praise|trust|say)))\b
        | \b(?:assistants?|agents?|bots?|models?|clients?|crawlers?|crawler) (?:that|which|in|of) [^,.\n]{1,40}? (?:must|should|may|can|need|treat|ask) (?:\w+ ){1,3}(?:before|after|unless|only|as data|until|never|permission)\b""",
    ),
    _phrase(
        "QUOTE_THIS",
        r"""\b(?:sentence|line|words?|phrase|text|answer|say|reply|respond|statement|state|write|with)(?: only| that| with)? ?[:,]? ?["“'«](?![smt]\b)""",
    ),
)
