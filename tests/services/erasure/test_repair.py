"""Replies from earlier versions are linked to the memories that they quote, or erased."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.management import call_command
from django.utils import timezone

from memory.models import ContextPack, ErasedMemory, Erasure, Memory, MemoryLink
from memory.services.erasure.repair import ERASED, LINKED, repair_replies
from tests.job_queue import run_task

SAID = "My passport number is X1234567."


def reply(tenant: Any, remember: Any, text: str, *sources: Any, model: str = "") -> str:
    """Store a reply as earlier versions did, with its sources in the metadata only."""
    told = {"context_pack_id": None, "memory_ids": [str(one) for one in sources], **({"model": model} if model else {})}
    identity: str = remember(tenant, text, session="s1", role="agent", metadata={"answer": told})
    return identity


def links_of(tenant: Any) -> set[tuple[str, str]]:
    rows = MemoryLink.objects.in_scope(tenant.scope).values_list("memory_id", "other_id")
    return {(str(one), str(other)) for one, other in rows}


def repair(tenant: Any, **options: Any) -> dict[str, int]:
    done = repair_replies(tenant.scope, now=timezone.now(), **options)
    return {LINKED: done[LINKED], ERASED: done[ERASED]}


def test_replies_are_linked_to_what_they_quote_once(alice, remember):
    said, other = remember(alice, SAID, speaker="Ada"), remember(alice, "The ferry leaves at noon on every Sunday.")
    quoted = reply(alice, remember, SAID, said)
    written = reply(alice, remember, "Your passport is X1234567.", said, other, model="llamacpp/small")
    reply(alice, remember, "I would rather not say.", said, model="llamacpp/small")
    remember(alice, "I said this myself.", role="agent", metadata={"answer": "no object"})

    assert repair(alice, dry_run=True) == {LINKED: 2, ERASED: 0}
    assert links_of(alice) == set()
    assert repair(alice) == {LINKED: 2, ERASED: 0}
    assert links_of(alice) == {(quoted, said), (written, said)}
    assert repair(alice) == {LINKED: 0, ERASED: 0}


def test_replies_that_quote_what_is_gone_or_anothers_are_erased(alice, bob, remember):
    theirs, gone = remember(bob, "The ferry leaves from pier nine, every day."), uuid.uuid4()
    ErasedMemory.objects.create(namespace_id=alice.scope.namespace_id, erasure_id=uuid.uuid4(), memory_id=gone)
    own = remember(alice, "My dentist is in the Rue Mercière.")
    reply(alice, remember, "The ferry leaves from pier nine, every day.", theirs)
    reply(alice, remember, "It leaves from pier nine, every day.", theirs, own, model="llamacpp/small")
    reply(alice, remember, SAID, gone)
    kept = reply(alice, remember, "I do not know that.", theirs, gone, model="llamacpp/small")

    call_command("link_replies", "alice", verbosity=0)
    erasure = Erasure.objects.in_scope(alice.scope).get()
    run_task("erase", alice.scope.namespace_id, str(erasure.pk[1]))

    left = {str(one) for one in Memory.objects.in_scope(alice.scope).values_list("pk", flat=True)}
    assert left == {own, kept}
    assert Memory.objects.in_scope(bob.scope).count() == 1


def test_an_erasure_takes_a_copy_along_that_nobody_linked(alice, remember):
    said = remember(alice, SAID, session="s0", speaker="Ada")
    copied = reply(alice, remember, f"Noted: {SAID}")
    others = remember(alice, "Ada's passport is called X-99.", session="s0", speaker="Ben")

    answer = alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": [said], "reason": "asked by Ada"}).json()
    run_task("erase", alice.scope.namespace_id, answer["id"])
    receipt = alice.get(f"/v1/erasures/{answer['id']}").json()

    assert (receipt["status"], receipt["found"]) == ("finished", 2), receipt
    words = receipt["proof"]["words"]
    assert (words["searched"], words["left"], words["said_by_others"]) == (2, 0, 0)
    assert {"memory_memory", "memory_contextpack", "memory_condensation", "redis_window"} <= words["found"].keys()
    assert not any(words["found"].values())
    left = {str(one) for one in Memory.objects.in_scope(alice.scope).values_list("pk", flat=True)}
    assert left == {others}
    assert copied not in left


def test_what_others_say_stays_and_is_named_on_the_receipt(alice, remember):
    said = remember(alice, SAID, session="s0", speaker="Ada")
    others = remember(alice, "Ada gave X1234567 at the desk.", session="s0", speaker="Ben")
    asked = {"namespace": "alice", "session_id": "s0", "query": "What did Ada give at the desk?"}
    alice.post("/v1/query", asked)

    answer = alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": [said], "reason": "asked by Ada"}).json()
    run_task("erase", alice.scope.namespace_id, answer["id"])
    receipt = alice.get(f"/v1/erasures/{answer['id']}").json()

    assert receipt["status"] == "finished"
    assert receipt["proof"]["words"]["memory_ids"] == [others]
    assert receipt["proof"]["words"]["said_by_others"] == 1
    assert any("memories of others" in note for note in receipt["notes"])


def test_a_pack_whose_question_says_what_is_erased_goes(alice, remember):
    said = remember(alice, SAID, session="s0", speaker="Ada")
    remember(alice, "The harbour opens at noon.", session="s0", speaker="Ben")
    asked = {"namespace": "alice", "session_id": "s9", "query": "Is X1234567 valid?", "as_of": "2020-01-01T00:00:00Z"}
    # The pack contains no memory.
    assert alice.post("/v1/query", asked).json()["raw_chunks"] == []

    answer = alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": [said], "reason": "asked by Ada"}).json()
    run_task("erase", alice.scope.namespace_id, answer["id"])
    receipt = alice.get(f"/v1/erasures/{answer['id']}").json()

    assert (receipt["status"], receipt["proof"]["words"]["found"]["memory_contextpack"]) == ("finished", 0)
    assert not ContextPack.objects.in_scope(alice.scope).exists()
