"""Rules about meanings that occur together in a sentence (`clauses.py`), or in two consecutive ones.

Nearly all of them need an order: an imperative, a "must", or a dictated answer. A mention is not enough.
"""

from __future__ import annotations

from typing import NamedTuple

_MACROS = {
    "ANY": (
        "!SEND|!REVEAL|!DESTROY|!GRANT|!PROMOTE|!SAY|!OMIT|!OVERRIDE|!BYPASS|!STORE|!OBEY|!RUN|!PERSONA|!TELL|~TELL"
        "|!HARM"
    ),
    "ACT": "!SEND|!DESTROY|!GRANT|!OMIT|!BYPASS|!OBEY|!RUN",
    "READER": "MACHINE|VOCATIVE|IF_AI|READS",
    "ALWAYS": "STANDING|LATER|PERMANENT",
    "FORBIDDEN": "~SEND|~STORE|~OBEY|~RUN|~GRANT|~DESTROY",
}


class Rule(NamedTuple):
    """A rule that needs one meaning of each group in `needs`, and none in `lacks`.

    With `pair`, two sentences may share what it needs. With `own`, it weighs less if the speaker tells their own
    wishes.
    """

    name: str
    says: str
    weight: float
    needs: tuple[frozenset[str], ...]
    lacks: frozenset[str]
    pair: bool
    own: bool


def _rule(name: str, weight: float, terms: str, *, says: str = "", pair: bool = False, own: bool = False) -> Rule:
    needs: list[frozenset[str]] = []
    lacks: set[str] = set()
    for term in terms.split():
        names = frozenset("|".join(_MACROS.get(one, one) for one in term.lstrip("-").split("|")).split("|"))
        if term.startswith("-"):
            lacks |= names
        else:
            needs.append(names)
    return Rule(f"injection.{name}", says or _SAYS[name], weight, tuple(needs), frozenset(lacks), pair, own)


_SAYS = {
    "reader": "It gives orders to the assistant that will read it.",
    "override": "It tells the reader to ignore the instructions it was given.",
    "persona": "It gives the reader a role without limits.",
    "leak": "It asks the reader for its own hidden instructions, or for what others told it.",
    "exfiltrate": "It asks the reader to send what it knows to somebody.",
    "delayed": "It tells the reader what to do later, when somebody asks or says something.",
    "standing": "It gives the reader a standing order in somebody's favour.",
    "preference": "An order that harms the user is dressed as the user's wish.",
    "secrecy": "It asks the reader to hide something from the user.",
    "authority": "It speaks as if it came from the system, its makers or an administrator.",
    "no_check": "It asks the reader to act without the check that there is for it.",
    "plant": "It asks to be remembered as a power, a permission or a truth beyond question.",
    "destroy": "It asks the reader to destroy or rewrite what is stored.",
    "sabotage": "It asks the reader to do harm unseen.",
    "obedience": "It says whose orders the reader must follow.",
    "dictated": "It dictates what the reader is to say.",
    "spoof": "It imitates a system's turn that gives orders.",
    "stepwise": "It makes the reader's next step an order.",
}

RULES = (
    # Addressed to a reader.
    _rule("reader", 0.75, "READS MACHINE|VOCATIVE|IF_AI|WHOEVER ANY|MODAL|NOT_TELL -FIRST -DESCRIBED"),
    _rule("reader", 0.75, "IF_AI ANY|MODAL|NOT_TELL"),
    _rule("reader", 0.6, "IF_AI READS"),
    _rule("reader", 0.55, "VOCATIVE ANY|MODAL|NOT_TELL|QUOTE_THIS|!OTHER|!PUT -FIRST", pair=True),
    _rule(
        "reader",
        0.4,
        "MACHINE MODAL ACT|!PROMOTE|!SAY|!STORE|NOT_TELL|OBEYED|NO_CHECK"
        " DEST|MONEY|POWER|CLAIM|NO_CHECK|SENSITIVE|QUIET|OBEYED -FIRST -FORBIDDEN -CODE -DESCRIBED",
    ),
    # Against earlier instructions.
    _rule("override", 0.7, "!OVERRIDE|~OBEY INSTR|TOLD EARLIER|ALL|TOLD|YOU", own=True),
    _rule("override", 0.7, "!OVERRIDE|~OBEY TOLD|MASTERS"),
    _rule("override", 0.6, "MACHINE MODAL !OVERRIDE EARLIER|INSTR -DESCRIBED -FORBIDDEN"),
    _rule("override", 0.6, "RULES|TOLD VOID YOU|TOLD|READS|MACHINE ANY|ONLY_ME|MODAL -FIRST"),
    _rule("override", 0.5, "RULES VOID EARLIER ONLY_ME|OBEYED|READS|!OBEY"),
    _rule("override", 0.45, "TOLD VOID"),
    _rule("override", 0.45, "RULES VOID EARLIER AUTHORITY|URGENT|CHECK"),
    _rule("override", 0.5, "TOLD !OBEY|ONLY_ME|OBEYED"),
    _rule("override", 0.45, "RULES VOID YOU", own=True),
    _rule("override", 0.5, "ONLY_ME YOU|ANY INSTR|TOLD|OBEYED|!OBEY|YOU", pair=False),
    _rule("override", 0.45, "YOURS BELITTLED -FIRST", pair=True),
    _rule("override", 0.45, "YOURS VOID ANY|YOU -FIRST", pair=True),
    _rule("override", 0.4, "YOURS !OVERRIDE|!BYPASS|!OMIT -FIRST -DESCRIBED"),
    _rule("leak", 0.4, "YOURS !REVEAL TOLD|SENSITIVE -FIRST", pair=True),
    _rule("override", 0.5, "NO_CHECK YOU INSTR EARLIER"),
    _rule("persona", 0.65, "UNLIMITED NEW_SELF|!PERSONA YOU|ANY", pair=True),
    _rule("persona", 0.45, "UNLIMITED YOU|MACHINE|!PERSONA ANY|MODAL|NEW_SELF", own=True),
    _rule(
        "persona",
        0.45,
        "MODE UNLIMITED|VOID|NO_CHECK|!REVEAL|!BYPASS YOU|MACHINE|CHECK|INSTR|SYSTEM_LINE -FIRST",
        pair=True,
    ),
    _rule("persona", 0.45, "MODE !PERSONA QUOTE_THIS|YOU|MACHINE -FIRST"),
    _rule("persona", 0.5, "NEW_SELF POWER|SENSITIVE !REVEAL|!SEND"),
    _rule("persona", 0.5, "NEW_SELF ONLY_ME"),
    _rule("leak", 0.5, "!REVEAL|!SEND SENSITIVE YOU|INSTR -FIRST"),
    _rule("leak", 0.4, "!REVEAL|!SEND SENSITIVE POWER|PERSON|MACHINE -FIRST -ASKS -DICTATE -DESCRIBED", own=True),
    # Sending data away.
    _rule("exfiltrate", 0.7, "!SEND|!REVEAL|!RUN SENSITIVE DEST", own=True),
    _rule("exfiltrate", 0.35, "!SEND|!RUN SENSITIVE QUIET|ALWAYS|NO_CHECK", own=True),
    _rule("exfiltrate", 0.5, "!SEND|!SAY|!STORE|!REVEAL|!PUT SENSITIVE LINKED", own=True),
    _rule("exfiltrate", 0.7, "LINK_DATA"),
    _rule("exfiltrate", 0.35, "!SEND|!RUN DEST QUIET|ALWAYS|NO_CHECK|READER"),
    # Delayed orders.
    _rule("delayed", 0.45, "ASKS ANY LATER -FIRST -DESCRIBED", pair=True),
    _rule("delayed", 0.4, "ASKS ANY PERSON CLAIM|ONLY_ME|QUOTE_THIS|DEST -FIRST -DESCRIBED", own=True),
    _rule("delayed", 0.4, "ASKS YOU DICTATE MODAL -FIRST -DESCRIBED", own=True),
    _rule("delayed", 0.5, "LATER ACT|NEW_SELF SENSITIVE|POWER|DEST|MONEY -FIRST -DESCRIBED", own=True),
    _rule("delayed", 0.4, "ASKS THE_USER ANY LATER|ALWAYS|EVERY_TIME|SENSITIVE|POWER|DICTATE -FIRST -DESCRIBED"),
    _rule("delayed", 0.38, "ASKS ANYONE EVERY_TIME !SAY|!GRANT|!PROMOTE|!SEND -FIRST -DESCRIBED"),
    _rule("delayed", 0.38, "ASKS ANYONE DICTATE !SAY -FIRST -DESCRIBED"),
    _rule("delayed", 0.4, "LATER !PROMOTE -FIRST -DESCRIBED"),
    # Standing orders.
    _rule("standing", 0.45, "STANDING !PROMOTE|!SAY CLAIM|DEST|QUOTE_THIS -FIRST", own=True),
    _rule("standing", 0.4, "STANDING NO_CHECK ANY|POWERFUL -FIRST", own=True),
    _rule("standing", 0.45, "STANDING OBEYED ANY|YOU", own=True),
    _rule("preference", 0.5, "PROFILE NO_CHECK|OBEYED|DEST|CLAIM|NOT_TELL|POWERFUL"),
    _rule("preference", 0.45, "PROFILE STANDING !PROMOTE|NO_CHECK"),
    # Hidden from the user.
    _rule("secrecy", 0.4, "NOT_TELL ACT|!PROMOTE|!SAY|!STORE -FIRST", own=True),
    _rule("secrecy", 0.35, "QUIET ACT|!PROMOTE|!SAY|!HARM|!PUT|!STORE -FIRST"),
    # Claimed authority.
    _rule(
        "authority",
        0.5,
        "AUTHORITY !SEND|!OMIT|!GRANT|!BYPASS|!REVEAL|!OBEY|NO_CHECK|UNLIMITED|OBEYED|ONLY_ME|!OVERRIDE",
        pair=True,
    ),
    _rule("authority", 0.45, "AUTHORITY !STORE INSTR|POWERFUL|TRUSTED|MACHINE|CHECK|DEST", pair=True),
    _rule("authority", 0.4, "AUTHORITY MACHINE MODAL|NO_CHECK|OBEYED"),
    _rule("authority", 0.45, "POWERFUL NO_CHECK|UNLIMITED", pair=True),
    _rule(
        "no_check", 0.45, "NO_CHECK !GRANT|!DESTROY|!RUN|!SEND|!OBEY MONEY|POWER|SENSITIVE|DANGER|CHECK|DATA", own=True
    ),
    _rule("no_check", 0.4, "!BYPASS CHECK !GRANT|!OBEY|!RUN|QUIET|OBEYED", own=True),
    _rule("no_check", 0.5, "MACHINE|YOU NO_CHECK MONEY|POWER|DANGER|DATA -ME -DESCRIBED", own=True),
    # Planted in memory.
    _rule("plant", 0.5, "!STORE POWERFUL|OBEYED|NO_CHECK|ONLY_ME POWER|OBEYED|MONEY|SENSITIVE|YOU|MACHINE", own=True),
    _rule("plant", 0.5, "!STORE TRUSTED|CLAIM DEST|ALWAYS|ONLY|INSTR", own=True),
    _rule("plant", 0.5, "!STORE TRUSTED SOURCE", own=True),
    _rule(
        "plant", 0.45, "!STORE PERMANENT VOID|CLAIM|POWERFUL|NO_CHECK|OBEYED|WRONG|CHECK|YOU|MACHINE|TRUSTED", own=True
    ),
    _rule("plant", 0.5, "!STORE|!OBEY|STANDING AS_MINE"),
    _rule(
        "plant",
        0.4,
        "!STORE MINDED THE_USER|MONEY|POWER|CHECK|DEST|CLAIM|TRUSTED|NO_CHECK|POWERFUL|VOID -FIRST -DESCRIBED",
    ),
    _rule("plant", 0.35, "!STORE STANDING INSTR|CLAIM|TRUSTED", own=True),
    _rule("obedience", 0.45, "NO_CHECK OBEYED"),
    _rule("obedience", 0.4, "OBEYED !STORE|STANDING -FIRST", own=True),
    _rule("obedience", 0.4, "OBEYED !OBEY|!OVERRIDE|ONLY_ME YOU|MACHINE|TOLD|MASTERS|!OVERRIDE -FORBIDDEN", own=True),
    _rule("obedience", 0.4, "OBEYED ANY|MODAL MACHINE|YOU|POWER|DEST -FORBIDDEN", own=True),
    # Disguised as a tool or the system.
    _rule("stepwise", 0.5, "CALL TOOLED|VOCATIVE|READS MODAL|ANY|MACHINE|POWERFUL|NO_CHECK -DESCRIBED", pair=True),
    _rule("stepwise", 0.4, "CALL MACHINE MODAL -FORBIDDEN -DESCRIBED"),
    _rule("stepwise", 0.45, "CALL POWERFUL -CONDITION -DESCRIBED", pair=True),
    _rule("stepwise", 0.5, "SECRET_FILE !SEND|!REVEAL|!RUN|!STORE TOOLED|DEST|ASKS|STANDING|NO_CHECK", pair=True),
    _rule("stepwise", 0.4, "TOOLED MODAL|MACHINE ACT|!STORE|!REVEAL SENSITIVE|POWER|DEST -DESCRIBED", pair=True),
    _rule(
        "spoof",
        0.5,
        "SYSTEM_LINE UNLIMITED|NO_CHECK|POWERFUL|!GRANT|!BYPASS|OBEYED|NOT_TELL ANY|MODAL|YOU",
        pair=True,
    ),
    _rule("spoof", 0.5, "SYSTEM_LINE !REVEAL|!SEND|!DESTROY SENSITIVE|DEST|DATA|MONEY", pair=True),
    _rule("spoof", 0.45, "SYSTEM_LINE UNLIMITED|POWERFUL|OBEYED"),
    _rule("spoof", 0.5, "SYSTEM_LINE VOID|NO_CHECK|UNLIMITED CHECK|MACHINE|YOU -SENSITIVE", pair=True),
    # Harm.
    _rule("destroy", 0.4, "!DESTROY MEMORY PERSON|NOT_TELL -FIRST", own=True),
    _rule("destroy", 0.4, "!DESTROY MIND ALL|PERSON|NOT_TELL", own=True),
    _rule("destroy", 0.5, "DANGER NO_CHECK|NOT_TELL|QUIET|READER"),
    _rule("destroy", 0.4, "!DESTROY CHECK !GRANT|LATER|POWERFUL|SABOTAGE", own=True),
    _rule("sabotage", 0.5, "SABOTAGE ANY|MODAL PERSON|NOT_TELL|MODAL|STANDING", own=True),
    _rule("sabotage", 0.45, "ALL_WELL SABOTAGE|!DESTROY|!OMIT|!HARM -FIRST", own=True),
    _rule("sabotage", 0.45, "!HARM THE_USER|PERSON -FIRST", own=True),
    _rule("sabotage", 0.4, "!HARM QUIET|NOT_TELL -FIRST", own=True),
    _rule("dictated", 0.45, "!SAY ALL_QUESTIONS QUOTE_THIS|CLAIM|DEST -FIRST"),
    _rule("dictated", 0.4, "!PROMOTE|!SAY CLAIM DEST|QUIET -FIRST", own=True),
)
