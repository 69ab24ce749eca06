"""Reads the cases of `strangers/`, whose writer knew neither the rules nor the weights. FORMAT.md there has the form.

The `dev` half may be read and learned from. The `unseen` half is only counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "strangers"
DEV, UNSEEN = "dev", "unseen"
KINDS = ("series", "speakers", "updates", "outright", "lookalikes", "successors")


def read_cases(kind: str, half: str) -> list[dict[str, Any]]:
    """Reads the cases of one of KINDS in one half, as in FORMAT.md; a series has `messages` like the others."""
    cases = json.loads((FOLDER / f"{kind}_{half}.json").read_text(encoding="utf-8"))
    if kind == "series":
        for case in cases:
            sessions = case.get("sessions") or ["s1"] * len(case["statements"])
            case["messages"] = [
                {"session": session, "speaker": case["speaker"], "text": text}
                for session, text in zip(sessions, case["statements"], strict=True)
            ]
    return list(cases)


def list_pairs(kind: str, half: str) -> Iterator[tuple[int, str, str, str]]:
    """Yields (label, group, older, newer) of messages of one speaker; label 1 if the newer gives the new value."""
    for case in read_cases(kind, half):
        texts = [message["text"] for message in case["messages"]]
        if kind in ("series", "lookalikes"):
            for newer in range(1, len(texts)):
                for older in range(newer):
                    if case["messages"][older]["speaker"] == case["messages"][newer]["speaker"]:
                        yield 0, case["id"], texts[older], texts[newer]
        elif kind == "updates":
            values = case.get("chain") or [case["old"], case["new"]]
            places = [max(at for at, text in enumerate(texts) if value in text) for value in values]
            for older, newer in pairwise(places):
                yield 1, case["id"], texts[older], texts[newer]
            for other in set(range(len(texts))) - {*places}:
                yield 0, case["id"], *((texts[other], texts[-1]) if other < places[-1] else (texts[-1], texts[other]))
        elif kind == "successors":
            yield 1, case["id"], texts[0], texts[-1]
