"""Finds names of people, places, organisations, projects and things in English and Chinese text, by rules.

The rules look at the shape of a name, the surrounding words and word lists (`Lexicon`). A name that fits no rule is
left out: it can still be found by words, whereas a wrong entity would appear in everyone's graph.
"""

from __future__ import annotations

import re
from itertools import pairwise

from memory.enums import EntityKind
from memory.text.chinese_names import find_chinese_names
from memory.text.english_names import find_english_names
from memory.text.name_cues import NO_NAMES
from memory.text.names import MAX_NAME_CHARS, Lexicon, NameMatch, is_wide, name_key
from memory.text.sentences import sentence_ends

# Text after this many characters is ignored.
MAX_CHARS = 20_000
MAX_ENTITIES = 200

# Matches code, addresses, paths, formulas and placeholders. Every pattern has a bounded look-ahead.
_CODE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|<[^<>\n]{1,200}>|\b(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.~-])[\w.~-]{0,100}/[\w./-]+|\\\[.{0,500}?\\\]|\\\(.{0,500}?\\\)|\\\w{1,20}\{[^{}\n]{0,200}\}"
    r"|\[[^\[\]\n]{1,300}\](?!\()",
    re.DOTALL,
)
_LABEL = re.compile(
    r"^[ \t]*(?:[-*•]|\d+[.)])?[ \t]*\*\*[^*\n]{1,80}\*\*:?|^[ \t]*#{1,6}[ \t][^\n]*|\*\*[^*\n]{1,80}:\*\*",
    re.MULTILINE,
)
_LEAD = re.compile(r"[\s\-*•>#|\"“'‘(]*(?:\d{1,3}[.)]\s+)?(?:#?[\w ]{1,24}#?:\s+)?")
_LINE_END = re.compile(r"\n")


def find_entities(text: str, lexicon: Lexicon, *, speaker: str = "") -> list[NameMatch]:
    """Return the names in `text` in reading order and without overlaps, preceded by the speaker's."""
    text = text[:MAX_CHARS]
    plain = _blank_out(_blank_out(text, _CODE), _LABEL)
    found: list[NameMatch] = []
    for start, end in _sentences(plain):
        found.extend(find_english_names(plain, start, end, lexicon))
    if is_wide(plain):
        found.extend(find_chinese_names(plain, lexicon))
    # Drop names that contain blanked-out code.
    found = [one for one in found if text[one.start : one.end] == one.name]
    spoken = [NameMatch(0, 0, speaker.strip(), EntityKind.PERSON, 3)] if is_speaker_name(speaker) else []
    return spoken + _apart(found)[:MAX_ENTITIES]


def is_speaker_name(speaker: str) -> bool:
    """Tell whether a turn's speaker is called by a name rather than by a role ("user", "Assistant 2")."""
    key = name_key(speaker)
    bare = key.rstrip(" 0123456789")
    return len(key) > 1 and len(speaker) <= MAX_NAME_CHARS and bare not in NO_NAMES and len(bare) > 1


def _blank_out(text: str, pattern: re.Pattern[str]) -> str:
    """Return `text` with matches of `pattern` replaced by spaces, so that positions stay the same."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences and lines of `text`, without bullets and lead-ins like "Note: "."""
    cuts = sorted({0, *sentence_ends(text), *(match.end() for match in _LINE_END.finditer(text)), len(text)})
    spans = []
    for start, end in pairwise(cuts):
        lead = _LEAD.match(text, start, end)
        begin = lead.end() if lead else start
        if begin < end:
            spans.append((begin, end))
    return spans


def _apart(found: list[NameMatch]) -> list[NameMatch]:
    """Resolve overlaps in favour of the name with the higher weight, then of the longer one."""
    kept: list[NameMatch] = []
    taken = bytearray(max((named.end for named in found), default=0))
    for named in sorted(found, key=lambda item: (-item.weight, item.start - item.end, item.start)):
        if not any(taken[named.start : named.end]):
            kept.append(named)
            taken[named.start : named.end] = b"\1" * (named.end - named.start)
    return sorted(kept)
