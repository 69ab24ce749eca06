"""Whether two claims may be of the same person or thing, at the same time. Says nothing about their values."""

from __future__ import annotations

import re

from memory.text.claims import Claim, telling

# When something changed, rather than when it holds.
_SEASON = re.compile(r"^in |^this (?:week|month)$|over |during|while|以前|今天|昨天|明天|下周", re.IGNORECASE)
_INDEFINITE = re.compile(r"(?:an?|one|some|two|three|several)\s", re.IGNORECASE)


def is_same_holder(new: Claim, old: Claim) -> bool:
    """Whether both may be about the same person, or neither about any but the speaker."""
    if new.elsewhere != old.elsewhere or (old.owner != "other" and new.people - old.mentions):
        return False
    if old.owner == "own" and new.owner == "other" and not new.speaks_of_own:
        return bool((new.people | new.mentions) & old.people) or bool(new.names & old.names)
    subject = telling(old.subject) | old.people
    if (old.owner != "other" or old.names & old.subject) and subject and subject <= telling(new.topic) | new.mentions:
        return True
    if {new.owner, old.owner} == {"own", "other"} and not new.people & old.people:
        return False
    if new.people or old.people:
        return bool((new.people | new.mentions) & old.people) or bool(new.names & old.names)
    return True


def subject_of(claim: Claim) -> frozenset[str]:
    """What a claim is about besides its speaker."""
    return telling(claim.subject) | claim.people


def is_other_thing(new: Claim, old: Claim) -> bool:
    """Whether each subject has something that the other clause does not speak of: the kitchen's, not the bathroom's."""
    of, former = telling(new.of), telling(old.of)
    if of - telling(old.topic) and former - telling(new.topic):
        return True
    if (of and of >= telling(old.subject) | old.people and (of & telling(old.subject) or of & old.people)) or (
        former and former == telling(new.subject) and not telling(old.subject) - former <= telling(new.topic)
    ):
        # The library's café is not the library.
        return True
    mine = telling(new.subject) - telling(old.topic) - new.names
    theirs = telling(old.subject) - telling(new.topic) - old.names
    if not mine or not theirs:
        return False
    kinds = {value.kind for value in new.values} & {value.kind for value in old.values}
    return bool(telling(new.subject) & telling(old.subject)) or bool(kinds) or (new.verb == old.verb != "be")


def is_another(new: Claim, old: Claim) -> bool:
    """Whether the newer brings in another thing of the kind: "a new printer", where the earlier is of the printer."""
    brought, former = _INDEFINITE.match(new.clause.text), _INDEFINITE.match(old.clause.text)
    return brought is not None and former is None and bool(telling(new.subject) & telling(old.subject))


def is_exception(new: Claim, old: Claim) -> bool:
    """Whether the newer holds for a while only, or at times that the earlier does not name."""
    times = new.temporary - old.temporary
    if new.tense == "past" or new.changes:
        times -= {time for time in times if _SEASON.search(time)}
    return bool(times) and new.tense != "past"
