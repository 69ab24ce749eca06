"""What settling did to a case, and whether that is what should have happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.settling.cases import Case

MEASURES = ("kept", "first", "replaced", "linked only", "untouched")


@dataclass(frozen=True, slots=True)
class After:
    """One message after settling: what is left of its text, what was retired and why, and the link that replaces it."""

    left: str
    superseded: bool
    retired: tuple[str, ...] = ()
    linked: str = ""

    @property
    def touched(self) -> bool:
        return self.superseded or bool(self.retired) or bool(self.linked)


@dataclass(slots=True)
class Outcome:
    """A case after settling. Each of MEASURES is noted once for every thing of the case that it counts."""

    case: Case
    after: tuple[After, ...]
    _noted: list[tuple[str, bool, str]] = field(default_factory=list)

    def note(self, measure: str, good: bool, says: str) -> None:
        """`says`: what to show a person when it is not good."""
        self._noted.append((measure, good, says))

    def list_noted(self, measure: str) -> list[bool]:
        """Whether it was good, for each time `measure` was noted."""
        return [good for name, good, _ in self._noted if name == measure]

    @property
    def failed(self) -> list[str]:
        """What was not good, in words."""
        return [
            f"{name}: {says}"
            for name, good, says in self._noted
            if not good and name not in ("linked only", "recognised")
        ]

    def describe(self) -> str:
        """The case for people to read: its messages, what was done to them, what failed."""
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
