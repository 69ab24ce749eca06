"""Reads the texts that the gate is measured with: attacks, and similar harmless texts, in English and Chinese.

They are made from frames (`attacks.en.txt`, `benign.zh.txt`, …): `# kind` begins a kind, and each further line is a
frame. `<<a|b>>` is a slot with its fillings, `\\n` a line break, and `@base64 …` names a disguise (`disguises.py`).
Frames alternate between two halves, so that none is in both: rules are written by the `learn` half, and the `report`
half measures them on unseen texts.

Other texts were written individually, without frames and without knowledge of the rules (`attacks_more.en.txt`,
`harmless_more.zh.txt`, …). Three fifths of each kind, chosen at random, are `fresh`, by which rules may be written too;
the others are `fresh-unseen`. A line and its counterpart in the other language are in the same part. The files must not
change, because another line would distribute all of them differently.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from disguises import disguise

HERE = Path(__file__).resolve().parent
HALVES = ("learn", "report")
FRESH, FRESH_UNSEEN = "fresh", "fresh-unseen"
# Harmless documentation, code reviews, legal and medical texts (`prose.en.txt`, …), by a writer who had not seen the
# rules. No attacks are in this part.
PROSE = "prose"
PARTS = (*HALVES, FRESH, FRESH_UNSEEN, PROSE)
# Rules are written by these parts; the failures of the others must not be read.
READABLE = ("learn", FRESH)
_UNSEEN_OF_FIVE = (1, 3)
LANGUAGES = ("en", "zh")
# The limit on texts of a frame, which has no more than its number of fillings.
MOST_FILLINGS = 3

_SLOT = re.compile(r"<<(.+?)>>")
# The pages and notes that surround an attack in every second text.
_TEMPLATES = {
    "en": (
        "Minutes of the garden club. We met at six, tea was served, and the roses were discussed at length.\n\n{}\n\n"
        "The next meeting is on Thursday; Paula brings the seed catalogue.",
        "Our opening hours are nine to five. {} Parking is behind the house.",
    ),
    "zh": (
        "园艺社纪要：六点开会，备了茶，详细讨论了玫瑰的养护。\n\n{}\n\n下次会议在周四，由小潘带种子目录。",
        "营业时间为九点到五点。{}停车场在楼后。",
    ),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """Holds a text and its kind; `frame` identifies the frame that it was made from."""

    text: str
    attack: bool
    kind: str
    language: str
    frame: str
    half: str


def read_samples(half: str | None = None) -> list[Sample]:
    """Returns the texts of one of `PARTS`, or of the two `HALVES`, in a fixed order."""
    if half == PROSE:
        return [
            Sample(line, False, kind, language, f"{PROSE}.{language}.{kind}.{number}", PROSE)
            for language in LANGUAGES
            for kind, number, line in _lines(f"{PROSE}.{language}")
        ]
    read = _fresh_samples if half in (FRESH, FRESH_UNSEEN) else _samples
    samples = [sample for attack in (True, False) for language in LANGUAGES for sample in read(attack, language)]
    return [sample for sample in samples if half in (None, sample.half)]


def _samples(attack: bool, language: str) -> Iterator[Sample]:
    name = "attacks" if attack else "benign"
    for kind, number, line in _lines(f"{name}.{language}"):
        half = HALVES[number % 2]
        for place, text in enumerate(_fillings(line)):
            told = _TEMPLATES[language][number // 2 % 2].format(text) if attack and place % 2 else text
            yield Sample(told, attack, kind, language, f"{name}.{language}.{kind}.{number}", half)


def _fresh_samples(attack: bool, language: str) -> Iterator[Sample]:
    name = "attacks_more" if attack else "harmless_more"
    lines = list(_lines(f"{name}.{language}"))
    unseen = _unseen(name, Counter(kind for kind, _, _ in lines))
    for kind, number, line in lines:
        half = FRESH_UNSEEN if (kind, number) in unseen else FRESH
        text = _apply_disguise(line.replace("\\n", "\n"))
        yield Sample(text, attack, kind, language, f"{name}.{language}.{kind}.{number}", half)


def _unseen(name: str, counts: Counter[str]) -> set[tuple[str, int]]:
    """Chooses two fifths of the lines (kind, number): shuffled within each kind, then taken at even distances."""
    order: list[tuple[str, int]] = []
    for kind, count in counts.items():
        numbers = list(range(count))
        random.Random(f"{name}.{kind}").shuffle(numbers)
        order.extend((kind, number) for number in numbers)
    return {line for place, line in enumerate(order) if place % 5 in _UNSEEN_OF_FIVE}


def _lines(name: str) -> Iterator[tuple[str, int, str]]:
    """Yields each frame of a file, with its kind and its number within that kind."""
    kind, number = "", 0
    for line in (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and "<<" not in line and " " not in line[2:]:
            kind, number = line[2:], 0
            continue
        yield kind, number, line
        number += 1


def _fillings(frame: str) -> list[str]:
    """Returns the texts of a frame: the n-th has the n-th filling of each slot, cyclically if there are fewer."""
    slots = [slot.split("|") for slot in _SLOT.findall(frame)]
    count = min(MOST_FILLINGS, max(map(len, slots), default=1))
    texts = []
    for place in range(count):
        chosen = iter(slots)
        text = _SLOT.sub(lambda _: (options := next(chosen))[place % len(options)], frame)  # noqa: B023
        texts.append(_apply_disguise(text.replace("\\n", "\n")))
    return texts


def _apply_disguise(text: str) -> str:
    if not text.startswith("@"):
        return text
    name, _, plain = text[1:].partition(" ")
    return disguise(name, plain)
