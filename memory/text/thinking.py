"""Separates the thinking of a reasoning model from its answer in one text: `<think>…</think>It is oolong.`

Some servers leave the thinking in the text, and some leave out its opening tag because their template wrote it. Only a
tag outside code, at the start of the text, of a line or of a sentence counts: an answer may mention tags.
"""

from __future__ import annotations

import re
from typing import Final

_BLOCKS: Final = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning", "seed:think")},
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
}
_OPENING = re.compile("|".join(map(re.escape, _BLOCKS)), re.IGNORECASE)
_CLOSINGS: Final = {opening: re.compile(re.escape(closing), re.IGNORECASE) for opening, closing in _BLOCKS.items()}
_ANY_CLOSING = re.compile(
    rf"(?<![`\"'“‘「])(?:{'|'.join(map(re.escape, _BLOCKS.values()))})(?![`\"'”’」])", re.IGNORECASE
)
_MAX_TAG_CHARS = max(map(len, _BLOCKS.values()))
_ENDS_OF_SENTENCES = ("\n", ".", "!", "?", "。", "！", "？", ":", "：")
_FENCE = "```"


class ThinkingFilter:
    """Removes the thinking from a streamed text; a possible start of a tag waits for the next piece.

    Thinking without its opening tag passes through, because only its end shows that it was thinking.
    """

    def __init__(self) -> None:
        self._said = ""
        self._waiting = ""
        # Opening tag of the open block, and where the search for its end continues.
        self._opening = ""
        self._searched = 0
        self._has_thought = False

    def feed(self, piece: str) -> str:
        """Take the next piece and return what can be passed on now."""
        self._waiting += piece
        passed = len(self._said)
        while self._leave_block() if self._opening else self._reach_block():
            pass
        return self._said[passed:]

    def end(self) -> str:
        """Return the rest at the end. An unfinished block is dropped if it is the whole text, and else kept."""
        if self._opening and not self._said.strip():
            return ""
        return self._opening + self._waiting

    def _leave_block(self) -> bool:
        closing = _CLOSINGS[self._opening.lower()].search(self._waiting, self._searched)
        if closing is None:
            self._searched = max(0, len(self._waiting) - _MAX_TAG_CHARS)
            return False
        self._waiting = self._waiting[closing.end() :]
        self._opening, self._has_thought = "", True
        return True

    def _reach_block(self) -> bool:
        if self._has_thought and not self._said.strip():
            self._waiting = self._waiting.lstrip()
        tag = _OPENING.search(self._waiting)
        if tag is None:
            self._say(len(self._waiting) - _count_begun(self._waiting))
            return False
        self._say(tag.start())
        if _is_place_of_tag(self._said):
            self._opening, self._searched = tag[0], 0
            self._waiting = self._waiting[len(tag[0]) :]
        else:
            self._say(len(tag[0]))
        return True

    def _say(self, count: int) -> None:
        self._said += self._waiting[:count]
        self._waiting = self._waiting[count:]


def remove_thinking(text: str) -> str:
    """Remove the thinking from a whole text; a text without any is returned unchanged."""
    thinking = ThinkingFilter()
    said = thinking.feed(text) + thinking.end()
    closing = next((one for one in _ANY_CLOSING.finditer(said) if not _is_code(said[: one.start()])), None)
    said = said[closing.end() :] if closing else said
    return said if said == text else said.lstrip()


def _is_place_of_tag(before: str) -> bool:
    text = before.rstrip(" \t\r")
    return not _is_code(before) and (not text or text.endswith(_ENDS_OF_SENTENCES))


def _is_code(before: str) -> bool:
    return before.count(_FENCE) % 2 == 1


def _count_begun(text: str) -> int:
    """Return how many characters at the end may be the beginning of an opening tag."""
    ends = (text[-count:].lower() for count in range(min(_MAX_TAG_CHARS, len(text)), 0, -1))
    return next((len(end) for end in ends if any(tag.startswith(end) for tag in _BLOCKS)), 0)
