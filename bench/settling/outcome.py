"""Holds the result of settling a case, and compares it with the expected one."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.settling.cases import Case

MEASURES = ("kept", "first", "replaced", "linked only", "untouched")


@dataclass(frozen=True, slots=True)
class After:
    """Holds a message after settling: its remaining text, retired parts with reasons, the link that replaces it."""

    left: str
    superseded: bool
    retired: tuple[str, ...] = ()
    linked: str = ""

    @property
    def touched(self) -> bool:
        return self.superseded or bool(self.retired) or bool(self.linked)


@dataclass(slots=True)
class Outcome:
    """Holds a case after settling. Each of MEASURES is noted once for every item of the case that it counts."""

    case: Case
    after: tuple[After, ...]
    _noted: list[tuple[str, bool, str]] = field(default_factory=list)

    def note(self, measure: str, good: bool, says: str) -> None:
        """Notes one result of a measure; `says` is shown to people if it is not good."""
        self._noted.append((measure, good, says))

    def list_noted(self, measure: str) -> list[bool]:
        """Lists for each time that `measure` was noted whether it was good."""
        return [good for name, good, _ in self._noted if name == measure]

    @property
    def failed(self) -> list[str]:
        """Lists the failures, in words."""
        return [
            f"{name}: {says}"
            for name, good, says in self._noted
            if not good and name not in ("linked only", "recognised")
        ]

    def describe(self) -> str:
        """Describes the case for people: its messages, the changes to them, and the failures."""
        lines = [f"{self.case.id} {self.case.kind} {self.case.frame}"]
        for place, (message, done) in enumerate(zip(self.case.messages, self.after, strict=True)):
            who = f" {message.speaker or message.role}:" if message.speaker or message.role != "user" else ""
            lines.append(f"  {place}{who} {message.text}")
            if done.superseded:
                lines.append("      superseded")
            lines += [f"      retired {one}" for one in done.retired]
            if done.linked:
                lines.append(f"      linked as replaced: {done.linked}")
        return "\n".join([*lines, *(f"  ✗ {one}" for one in self.failed)])
