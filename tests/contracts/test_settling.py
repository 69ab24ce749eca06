"""How sure settling must be to do something by itself is said in one place; the documentation says the same number."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import timezone

from memory.enums import LinkKind, Relation
from memory.governance.comparison import LEAST_CONFIDENCE, Linked, Retired, Settled
from memory.governance.conflicts import Decision
from memory.models import Memory, MemoryLink, RetiredStatement
from memory.services.memories import comparison, settle

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "concepts" / "corrections.md").read_text(encoding="utf-8")
MARCH, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 5))


def test_the_page_names_the_threshold_that_is_in_force():
    named = re.findall(r"less sure than (\d(?:\.\d+)?)", PAGE)

    assert [float(number) for number in named] == [LEAST_CONFIDENCE]


@pytest.mark.parametrize(("sure", "leaves"), [(LEAST_CONFIDENCE, True), (LEAST_CONFIDENCE - 0.01, False)])
def test_what_is_less_sure_is_linked_and_not_carried_out_whoever_decided_it(alice, remember, monkeypatch, sure, leaves):
    old = remember(alice, "The pilot boards at buoy seven. My oboe is mended.", occurred_at=MARCH)
    new = remember(alice, "The pilot boards at buoy nine.", occurred_at=MAY)

    def decide(key, own, earlier, *, meanings, until):
        if str(key) != new:
            return Settled()
        [other] = earlier or [uuid.UUID(old)]
        decision = Decision(Relation.UPDATES, "Another value.", (), sure)
        first = earlier[other][0]
        retired = Retired(other, first.start, first.end, own[0], decision, frozenset())
        linked = Linked(other, first.start, first.end, own[0], decision)
        return Settled([retired], [linked], [])

    def find_earlier(compared):
        compared.earlier = list(Memory.objects.across_namespaces().filter(pk=old))

    monkeypatch.setattr(comparison, "settle", decide)
    monkeypatch.setattr(settle, "find_earlier", find_earlier)
    settle.settle_memory(alice.scope, memory_id=uuid.UUID(new), now=timezone.now())

    assert bool(Memory.objects.across_namespaces().get(pk=old).retired_spans) is leaves
    assert RetiredStatement.objects.across_namespaces().exists() is leaves
    assert MemoryLink.objects.across_namespaces().filter(kind=LinkKind.SUPERSEDES, memory_id=new, other_id=old).exists()
