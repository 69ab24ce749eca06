#!/usr/bin/env python
"""Measures the effects of settling on people's facts, on one half of the set in this folder.

    .venv/bin/python bench/settling/score.py --half learn --show
    .venv/bin/python bench/settling/score.py --half report

Each case is written into a scratch namespace, settled, and queried by the product's own search. README.md there
explains the figures. Data are stored in MEMOS_DATA_DIR, by default a folder among the temporary files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.product import product
from bench.settling.cases import KINDS, LANGUAGES, Case, Question, contains
from bench.settling.halves import HALVES, cases_of
from bench.settling.outcome import MEASURES, After, Outcome

TOP = 10
# The number of messages that are embedded at once.
BATCH = 400
# The kinds of cases in which something is corrected.
CORRECTING = tuple(kind for kind in KINDS if kind != "lookalike")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="learn")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind (may be given again)")
    parser.add_argument("--lang", choices=LANGUAGES, action="append", help="only this language")
    parser.add_argument("--frame", action="append", help="only this frame (may be given again)")
    parser.add_argument("--show", action="store_true", help="print every failure with its messages and what was done")
    options = parser.parse_args()
    chosen = [
        case
        for case in cases_of(options.half)
        if case.kind in (options.kind or KINDS)
        and case.language in (options.lang or LANGUAGES)
        and case.frame in (options.frame or (case.frame,))
    ]
    if not chosen:
        sys.exit("No case is of this kind, language and frame.")
    with product("memos-bench-settling"):
        outcomes = _measure(chosen)
    if options.show:
        for outcome in outcomes:
            if outcome.failed:
                print(outcome.describe(), end="\n\n")
    _print(outcomes, options.half)


def _measure(cases: Sequence[Case]) -> list[Outcome]:
    from memory.services.index.embedding import Embedded, embed_memories, passages_to_embed  # noqa: PLC0415
    from memory.services.recall.search import Ask, questions  # noqa: PLC0415

    now = datetime.now(UTC)
    messages = [message for case in cases for message in case.messages]
    embedded: list[Embedded] = [
        embed_memories([passages_to_embed(one.text, one.speaker) for one in messages[start : start + BATCH]])
        for start in range(0, len(messages), BATCH)
    ]
    texts = [text for case in cases for text in _list_questions(case)]
    ready = iter(questions([Ask(text, TOP, now) for text in texts]))
    outcomes, start = [], 0
    for case in cases:
        vectors = _join_vectors(embedded, range(start, start + len(case.messages)))
        start += len(case.messages)
        outcomes.append(_settle_case(case, vectors, [next(ready) for _ in _list_questions(case)], now=now))
    return outcomes


def _list_questions(case: Case) -> list[str]:
    return [*(one.text for one in case.questions), *(one.question for one in case.kept)]


def _join_vectors(embedded, places: range):
    """Returns the vectors of the messages at `places`, which may begin in one batch and end in the next."""
    import numpy as np  # noqa: PLC0415

    from memory.services.index.embedding import Embedded  # noqa: PLC0415

    rows, kept = [], []
    for number, batch in enumerate(embedded):
        for row, (memory, passage) in enumerate(batch.places):
            place = number * BATCH + memory
            if place in places:
                rows.append(batch.vectors[row])
                kept.append((place - places.start, passage))
    return Embedded(embedded[0].model_id, np.array(rows), kept)


def _settle_case(case: Case, vectors, ready: Sequence, *, now: datetime) -> Outcome:
    """Stores and settles a case, asks its questions, and returns the outcome."""
    from memory.retrieval.pipeline import retrieve  # noqa: PLC0415
    from memory.services.evaluation.scratch import scratch_namespace  # noqa: PLC0415
    from memory.services.memories.settle import settle_namespace  # noqa: PLC0415
    from memory.types import NewMemory  # noqa: PLC0415

    began = now - timedelta(days=30)
    memories = [
        NewMemory(
            session=message.session,
            role=message.role,
            text=message.text,
            speaker=message.speaker,
            metadata={"place": place},
            occurred_at=began + timedelta(hours=message.hours),
        )
        for place, message in enumerate(case.messages)
    ]
    with scratch_namespace(case.id, memories=memories, embedded=[vectors], actor="bench", keep=False, now=now) as scope:
        settle_namespace(scope, now=now)
        hits = [
            [(hit.metadata["place"], hit.text) for hit in retrieve(scope, question, top_k=TOP).hits]
            for question in ready
        ]
        after = _after(scope)
    return judge_case(case, after, hits)


def _after(scope) -> list[After]:
    """Returns the state of each message after settling, in order."""
    from memory.enums import LinkKind  # noqa: PLC0415
    from memory.models import Memory, MemoryLink, RetiredStatement  # noqa: PLC0415

    rows = list(Memory.objects.in_scope(scope))
    links = MemoryLink.objects.in_scope(scope).filter(kind=LinkKind.SUPERSEDES)
    replaced = {link.other_id: link.reason for link in links}
    retired: dict[object, list[str]] = {}
    for one in RetiredStatement.objects.in_scope(scope).select_related("memory"):
        said = one.memory.text[one.start : one.end]
        retired.setdefault(one.memory_id, []).append(f"{said!r} ({one.confidence:.2f} {one.reason})")
    done = {
        row.metadata["place"]: After(
            left=row.live,
            superseded=row.superseded_by is not None,
            retired=tuple(retired.get(row.pk, ())),
            linked=replaced.get(row.pk, ""),
        )
        for row in rows
    }
    return [done[place] for place in sorted(done)]


def judge_case(case: Case, after: Sequence[After], hits: Sequence[Sequence[tuple[int, str]]]) -> Outcome:
    """Judges a case. `hits`: for each question the (place of the message, returned text) of its hits, best first."""
    outcome = Outcome(case, tuple(after))
    asked = len(case.questions)
    for question, found in zip(case.questions, hits[:asked], strict=True):
        outcome.note("first", _stands_first(case, question, found), f"{question.text} → {_top(found)}")
    for fact, found in zip(case.kept, hits[asked:], strict=True):
        kept = any(all(contains(text, wanted) for wanted in fact.contains) for _, text in found)
        outcome.note("kept", kept, f"{fact.question} → none says {fact.contains}; first: {_top(found)}")
    for one in case.replaced:
        done = after[one.message]
        gone = done.superseded or not contains(done.left, one.value)
        outcome.note("replaced", gone, f"message {one.message} still gives {one.value!r}")
        outcome.note("linked only", bool(done.linked) and not gone, "")
        outcome.note("recognised", bool(done.linked) or gone, "")
    if case.untouched:
        touched = [place for place in case.untouched if after[place].touched]
        outcome.note("untouched", not touched, f"touched: {touched}")
    return outcome


def _stands_first(case: Case, question: Question, found: Sequence[tuple[int, str]]) -> bool:
    """Tells whether the top hit says the new value; if it names the old one too, it must be the newest that says it."""
    if not found:
        return False
    place, text = found[0]
    if not _says(text, question.first):
        return False
    if not (question.not_first and contains(text, question.not_first)):
        return True
    return place == max(at for at, message in enumerate(case.messages) if _says(message.text, question.first))


def _says(text: str, values: Iterable[str]) -> bool:
    return any(contains(text, value) for value in values)


def _top(found: Sequence[tuple[int, str]]) -> str:
    return repr(found[0][1]) if found else "nothing"


def _print(outcomes: Sequence[Outcome], half: str) -> None:
    print(f"{half}: {len(outcomes)} cases of {len({one.case.frame for one in outcomes})} frames")
    print(f"{'':34}{'cases':>6}" + "".join(f"{name:>19}" for name in MEASURES))
    _print_row("all", outcomes)
    for language in LANGUAGES:
        _print_row(language, [one for one in outcomes if one.case.language == language])
    for kind in KINDS:
        for language in LANGUAGES:
            mine = [one for one in outcomes if (one.case.kind, one.case.language) == (kind, language)]
            _print_row(f"{kind} {language}", mine)
    print("Aims: facts beside a correction kept 97, new value first 92, whole updates recognised 80, "
          "lookalikes untouched 97")  # fmt: skip
    for name, measure, kinds in (
        ("facts beside a correction kept", "kept", ("compound",)),
        ("facts kept, every kind", "kept", KINDS),
        ("new value first", "first", CORRECTING),
        ("whole updates recognised", "replaced", KINDS),
        ("merely linked", "linked only", KINDS),
        ("recognised: retired or linked", "recognised", KINDS),
        ("lookalikes untouched", "untouched", ("lookalike",)),
        ("bystanders and newest untouched", "untouched", CORRECTING),
    ):
        mine = [one for one in outcomes if one.case.kind in kinds]
        parts = [("all", mine), *((lang, [one for one in mine if one.case.language == lang]) for lang in LANGUAGES)]
        print(f"  {name:36}" + "".join(f"{label:>6} {_share(part, measure)}" for label, part in parts))


def _print_row(name: str, outcomes: Sequence[Outcome]) -> None:
    if outcomes:
        print(f"{name:34}{len(outcomes):6}" + "".join(f"{_share(outcomes, measure):>19}" for measure in MEASURES))


def _share(outcomes: Sequence[Outcome], measure: str) -> str:
    noted = [good for one in outcomes for good in one.list_noted(measure)]
    if not noted:
        return f"{'-':>17}"
    return f"{100 * sum(noted) / len(noted):5.1f} ({sum(noted)} of {len(noted)})".rjust(17)


if __name__ == "__main__":
    main()
