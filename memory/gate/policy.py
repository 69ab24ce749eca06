"""A namespace's policy for the gate's findings."""

from __future__ import annotations

from dataclasses import dataclass

from memory.enums import GateAction, PersonalDataKind

_ALLOWED = {
    "secrets": (GateAction.REDACT, GateAction.QUARANTINE, GateAction.REJECT),
    "personal_data": (GateAction.OFF, GateAction.REDACT, GateAction.QUARANTINE),
    "injection": (GateAction.ACCEPT, GateAction.QUARANTINE, GateAction.REJECT),
    "contradictions": (GateAction.ACCEPT, GateAction.QUARANTINE),
    "binary": (GateAction.QUARANTINE, GateAction.REJECT),
}


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The action for each kind of finding. By default nothing is refused for being small talk.

    `strict` quarantines turns that are worth less than `worth_threshold`, and merely suspected ones.
    `personal_kinds` are the kinds that `personal_data` applies to. `region` (ISO 3166, two letters) is the country of
    phone numbers without a country code.
    """

    strict: bool = False
    worth_threshold: float = 0.30
    secrets: GateAction = GateAction.REDACT
    personal_data: GateAction = GateAction.OFF
    personal_kinds: frozenset[PersonalDataKind] = frozenset(PersonalDataKind)
    region: str = "US"
    injection: GateAction = GateAction.QUARANTINE
    contradictions: GateAction = GateAction.QUARANTINE
    binary: GateAction = GateAction.QUARANTINE

    def __post_init__(self) -> None:
        for name, allowed in _ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {str(getattr(self, name))!r}: use {', '.join(allowed)}")
        if not 0.0 <= self.worth_threshold <= 1.0:
            raise ValueError(f"worth_threshold is {self.worth_threshold}: use a number from 0 to 1")
        unknown = sorted(set(map(str, self.personal_kinds)) - set(PersonalDataKind.values))
        if unknown:
            raise ValueError(f"personal_kinds has {', '.join(unknown)}: use {', '.join(PersonalDataKind.values)}")
        if not (len(self.region) == 2 and self.region.isascii() and self.region.isupper()):
            raise ValueError(f"region is {self.region!r}: use two capital letters, such as US or CN")
