"""/v1/erasures: refusals first, then what goes, what stays and what the receipt says."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import pytest
from django.utils import timezone

from memory import audit
from memory.enums import MemoryState
from memory.models import (
    AuditLog,
    AuditWords,
    Condensation,
    ContextPack,
    Document,
    DocumentChunk,
    EntityAlias,
    ErasedMemory,
    ErasedSession,
    Erasure,
    IdempotencyRecord,
    Memory,
    MemoryVector,
    MemoryVersion,
    Posting,
    RelevanceJudgement,
    Session,
)
from memory.services.audit import chain, verify
from memory.services.entities.extract import index_pending
from memory.services.erasure.receipts import speaker_digest
from memory.services.index.recount import differences
from memory.stores import window
from tests.job_queue import queued_jobs, run_task

SECRET = "The safe in the cellar opens with zinnober and quagga."
ERASE = {"namespace": "alice", "reason": "asked by the customer"}


def ask(tenant: Any, **body: Any) -> dict[str, Any]:
    """Request an erasure, carry it out, and return the receipt."""
    answer = tenant.post("/v1/erasures", ERASE | {"namespace": tenant.scope.namespace} | body)
    assert answer.status_code == 200, answer.content
    run_task("erase", tenant.scope.namespace_id, answer.json()["id"])
    return receipt(tenant, answer.json()["id"])


def receipt(tenant: Any, erasure_id: str) -> dict[str, Any]:
    return tenant.get(f"/v1/erasures/{erasure_id}").json()


def hits(tenant: Any, question: str) -> list[str]:
    body = {"namespace": tenant.scope.namespace, "query": question, "top_k": 50}
    return [hit["text"] for hit in tenant.post("/v1/search", body).json()["hits"]]


def query(tenant: Any, question: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    body = {"namespace": tenant.scope.namespace, "session_id": session, "query": question}
    return tenant.post("/v1/query", body | more).json()


def exported(tenant: Any) -> str:
    """Return as text everything that the tenant can read of packs, summaries, judgements and audit events."""
    parts = [
        tenant.get("/v1/ops/context_packs", include_pack="true"),
        tenant.get("/v1/ops/condensations"),
        tenant.get("/v1/judgements"),
        tenant.get("/v1/ops/audit", limit="200"),
        tenant.get("/v1/erasures"),
    ]
    assert {part.status_code for part in parts} == {200}
    return "".join(part.content.decode() for part in parts)


WRONG = [
    ({}, "memory_ids"),
    ({"memory_ids": []}, "memory_ids"),
    ({"memory_ids": "all"}, "memory_ids"),
    ({"memory_ids": ["x"]}, "memory_ids[0]"),
    ({"memory_ids": [7]}, "memory_ids[0]"),
    ({"memory_ids": [str(uuid.uuid4())] * 10_001}, "memory_ids"),
    ({"session_id": ""}, "session_id"),
    ({"session_id": "s" * 129}, "session_id"),
    ({"session_id": "s\0"}, "session_id"),
    ({"speaker": ""}, "speaker"),
    ({"speaker": 5}, "speaker"),
    ({"session_id": "s1", "speaker": "Ann"}, "speaker"),
    ({"memory_ids": [str(uuid.uuid4())], "whole_namespace": True, "confirm": "alice"}, "whole_namespace"),
    ({"whole_namespace": False}, "memory_ids"),
    ({"whole_namespace": "yes"}, "whole_namespace"),
    ({"whole_namespace": True}, "confirm"),
    ({"whole_namespace": True, "confirm": "Alice"}, "confirm"),
    ({"session_id": "s1", "reason": ""}, "reason"),
    ({"session_id": "s1", "reason": "  "}, "reason"),
    ({"session_id": "s1", "reason": "r" * 301}, "reason"),
    ({"session_id": "s1", "reason": None}, "reason"),
    ({"session_id": "s1", "dry_run": "no"}, "dry_run"),
    ({"session_id": "s1", "namespace": ""}, "namespace"),
]


@pytest.mark.parametrize(("body", "field"), WRONG, ids=[f"{f}-{i}" for i, (_, f) in enumerate(WRONG)])
def test_a_wrong_body_is_refused_and_nothing_goes(alice, remember, body, field):
    remember(alice, SECRET)

    answer = alice.post("/v1/erasures", ERASE | body)

    assert answer.status_code == 400
    assert field in [problem["field"] for problem in answer.json()["error"]["detail"]]
    assert Memory.objects.across_namespaces().count() == 1
    assert not Erasure.objects.across_namespaces().exists()
    assert not queued_jobs().exists()


def test_it_needs_the_admin_scope_and_the_namespace(alice, bob, olga, make_tenant, remember):
    remember(alice, SECRET)
    writer = make_tenant("alice", scopes=("read", "write"))
    mine = alice.post("/v1/erasures", ERASE | {"session_id": "elsewhere"}).json()["id"]

    assert olga.post("/v1/erasures").status_code == olga.get("/v1/erasures").status_code == 401
    assert olga.get(f"/v1/erasures/{mine}").status_code == 401
    for path in ("/v1/erasures", f"/v1/erasures/{mine}"):
        assert writer.get(path).status_code == 403
    assert writer.post("/v1/erasures", ERASE | {"session_id": "s1"}).status_code == 403
    assert bob.post("/v1/erasures", ERASE | {"session_id": "s1"}).status_code == 404
    assert bob.get(f"/v1/erasures/{mine}").status_code == 404
    assert bob.get("/v1/erasures").json()["erasures"] == []
    assert bob.get("/v1/erasures", namespace="alice").status_code == 404
    assert bob.get("/v1/erasures", speaker="Ann").status_code == 400
    assert alice.get(f"/v1/erasures/{uuid.uuid4()}").status_code == 404
    assert Memory.objects.across_namespaces().count() == 1


def test_no_namespace_is_made_by_forgetting_it(make_tenant):
    boss = make_tenant("boss", all_namespaces=True)

    answer = boss.post("/v1/erasures", ERASE | {"namespace": "nobody", "session_id": "s1"})

    assert answer.status_code == 404


def fill(tenant: Any, remember: Any) -> list[str]:
    """Make two sessions with a secret each and everything that may hold it, and return the ids of the secrets."""
    for number in range(6):
        remember(tenant, f"Turn {number} about tea and the harbour.", speaker="Ann" if number % 2 else "Ben")
    first = remember(tenant, SECRET, speaker="Ann")
    second = remember(tenant, f"{SECRET} Again.", session="s2", speaker="Ann")
    remember(tenant, "We decided to drink mint tea.", session="s2", speaker="Ben")
    for session in ("s1", "s2"):
        run_task("condense_session", tenant.scope.namespace_id, session)
    query(tenant, "What opens the safe in the cellar?")
    query(tenant, "What tea?", session="s2")
    query(tenant, SECRET, session="s1")
    mark = {"namespace": tenant.scope.namespace, "query": "What opens the safe?"}
    tenant.post("/v1/judgements", mark | {"marks": [{"memory_id": first, "relevant": True}]})
    return [first, second]


def assert_gone(tenant: Any, ids: list[str]) -> None:
    """Check that no row of the tenant names the memories, except for ids in the receipt and the audit."""
    mine = {"namespace_id": tenant.scope.namespace_id}
    for model in (MemoryVector, MemoryVersion, Posting, RelevanceJudgement, DocumentChunk):
        assert not model.objects.filter(**mine, memory_id__in=ids).exists(), model
    assert not Memory.objects.filter(**mine, pk__in=ids).exists()
    assert not ContextPack.objects.filter(**mine, memory_ids__overlap=ids).exists()
    assert not any(SECRET in str(row) for row in ContextPack.objects.filter(**mine).values())
    assert not any("quagga" in row.condensed_text for row in Condensation.objects.filter(**mine))
    for session in ("s1", "s2"):
        assert not {message.memory_id for message in window.read(tenant.scope.namespace_id, session)} & set(ids)
    assert differences([tenant.scope.namespace_id]) == []
    assert "quagga" not in exported(tenant)


def assert_proved(shown: dict[str, Any]) -> None:
    assert shown["status"] == "finished", shown
    assert shown["proof"]["left"] == 0
    assert shown["proof"]["counters_exact"] is True
    assert shown["proof"]["search"]["found_after"] == 0
    assert {entry["left"] for entry in shown["holders"].values()} == {0}


def test_memories_by_id_are_gone_from_every_holder_and_what_is_left_is_summarised_again(alice, bob, remember):
    ids, theirs = fill(alice, remember), fill(bob, remember)
    before = {
        "turns": Memory.objects.filter(namespace_id=alice.scope.namespace_id).count(),
        "found": hits(alice, SECRET),
    }

    shown = ask(alice, memory_ids=ids)

    assert_proved(shown)
    assert_gone(alice, ids)
    assert (shown["named"], shown["missing"], shown["found"]) == (2, 0, 2)
    holders = shown["holders"]
    assert holders["memory_memory"] == {"counted": 2, "cleared": 2, "left": 0}
    assert holders["memory_memoryvector"]["cleared"] == 2
    assert holders["memory_posting"]["counted"] == holders["memory_posting"]["cleared"] > 10
    assert holders["memory_relevancejudgement"]["cleared"] == 1
    assert holders["memory_contextpack"]["cleared"] == 3
    assert holders["memory_condensation"] == {"counted": 2, "cleared": 2, "left": 0}
    assert holders["memory_session"]["cleared"] == 0
    assert holders["redis_window"] == {"counted": 2, "cleared": 2, "left": 0}
    assert shown["proof"]["search"] == {"searched": 2, "found_before": 2, "found_after": 0}
    assert len(before["found"]) == 9
    assert hits(alice, SECRET)
    assert not any("quagga" in text for text in hits(alice, SECRET))
    # Sessions with remaining turns get new cards made from these.
    assert shown["summaries_rebuilt"] == 2
    cards = Condensation.objects.filter(namespace_id=alice.scope.namespace_id)
    assert set(cards.values_list("session", flat=True)) == {"s1", "s2"}
    assert not set(ids) & {str(source) for card in cards for source in card.source_memory_ids}
    # Bob said exactly the same.
    assert Memory.objects.across_namespaces().filter(pk__in=theirs).count() == 2
    assert Posting.objects.across_namespaces().filter(memory_id__in=theirs).exists()
    assert any("quagga" in text for text in hits(bob, SECRET))
    assert ContextPack.objects.filter(namespace_id=bob.scope.namespace_id).count() == 3
    assert RelevanceJudgement.objects.filter(namespace_id=bob.scope.namespace_id).count() == 1


def test_a_malformed_idempotency_key_of_a_dry_run_is_refused(alice, remember):
    body = ERASE | {"memory_ids": [remember(alice, "Ann moved.")], "dry_run": True}

    assert alice.post("/v1/erasures", body, Idempotency_Key="two words").status_code == 400


def test_a_dry_run_counts_what_would_go_and_stores_nothing(alice, remember):
    ids = fill(alice, remember)

    body = alice.post("/v1/erasures", ERASE | {"memory_ids": ids, "dry_run": True}).json()

    assert (body["id"], body["status"], body["found"]) == (None, "dry_run", 2)
    assert body["holders"]["memory_memory"] == {"counted": 2}
    assert body["holders"]["redis_window"] == {"counted": 2}
    assert body["holders"]["memory_condensation"] == {"counted": 2}
    assert not Erasure.objects.across_namespaces().exists()
    assert not ErasedMemory.objects.across_namespaces().exists()
    assert not ErasedSession.objects.across_namespaces().exists()
    assert not queued_jobs().filter(kind="erase").exists()
    assert AuditLog.objects.across_namespaces().filter(event_type__startswith="ERASURE").count() == 0
    assert ask(alice, memory_ids=ids)["holders"]["memory_memory"]["counted"] == 2


def test_a_session_goes_with_its_row_summaries_packs_and_documents(alice, remember):
    ids = fill(alice, remember)
    document = {"namespace": "alice", "document_id": "d", "text": f"{SECRET} In a document.", "session_id": "s1"}
    assert alice.post("/v1/documents", document).status_code == 200

    shown = ask(alice, session_id="s1")

    assert_proved(shown)
    mine = {"namespace_id": alice.scope.namespace_id}
    assert set(Memory.objects.filter(**mine).values_list("session", flat=True)) == {"s2"}
    assert list(Session.objects.filter(**mine).values_list("name", flat=True)) == ["s2"]
    assert not Document.objects.across_namespaces().exists()
    assert set(Condensation.objects.filter(**mine).values_list("session", flat=True)) == {"s2"}
    assert not ContextPack.objects.filter(**mine, session="s1").exists()
    assert window.read(alice.scope.namespace_id, "s1") == []
    assert (shown["named"], shown["found"], shown["documents"]) == (7, 8, 1)
    assert "Documents erased whole: 1." in shown["notes"]
    assert Memory.objects.across_namespaces().filter(pk=ids[1]).exists()


def test_a_speaker_goes_wherever_they_spoke_and_the_receipt_does_not_keep_the_name(alice, bob, remember):
    fill(alice, remember)
    remember(alice, "anne is another one", speaker="Anne")
    remember(bob, "Ann at bob's", speaker="Ann")

    shown = ask(alice, speaker="Ann")

    assert_proved(shown)
    mine = Memory.objects.filter(namespace_id=alice.scope.namespace_id)
    assert set(mine.values_list("speaker", flat=True)) == {"Ben", "Anne"}
    assert Memory.objects.filter(namespace_id=bob.scope.namespace_id, speaker="Ann").count() == 1
    assert '"Ann"' not in exported(alice)
    erasure = Erasure.objects.across_namespaces().get()
    assert erasure.speaker_digest == speaker_digest(alice.scope.namespace_id, "Ann")
    found = alice.get("/v1/erasures", namespace="alice", speaker="Ann").json()["erasures"]
    assert [row["id"] for row in found] == [shown["id"]]
    assert alice.get("/v1/erasures", namespace="alice", speaker="Ben").json()["erasures"] == []


def test_a_namespace_is_emptied_and_goes_on(alice, bob, remember):
    fill(alice, remember)
    fill(bob, remember)
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "d", "text": SECRET})

    shown = ask(alice, whole_namespace=True, confirm="alice")

    assert_proved(shown)
    mine = {"namespace_id": alice.scope.namespace_id}
    for model in (Memory, MemoryVector, Posting, Session, Condensation, ContextPack, Document, RelevanceJudgement):
        assert not model.objects.filter(**mine).exists(), model
        assert model is Document or model.objects.filter(namespace_id=bob.scope.namespace_id).exists(), model
    assert "quagga" not in exported(alice)
    remember(alice, "A new beginning.")
    assert Memory.objects.get(**mine).turn == 1
    assert hits(alice, "beginning") == ["A new beginning."]


def test_a_document_that_loses_a_chunk_goes_whole_and_a_newer_version_stays(alice):
    text = "\n\n".join(f"Part {number}. " + f"Words of part {number} fill this paragraph. " * 40 for number in range(4))
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "d", "text": text})
    chunk = DocumentChunk.objects.across_namespaces().first()
    assert chunk is not None
    chunks = DocumentChunk.objects.across_namespaces().count()
    asked = alice.post("/v1/erasures", ERASE | {"memory_ids": [str(chunk.memory_id)]}).json()
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "other", "text": "Another text."})

    run_task("erase", alice.scope.namespace_id, asked["id"])

    shown = receipt(alice, asked["id"])
    assert_proved(shown)
    assert (shown["named"], shown["found"], shown["documents"]) == (1, chunks, 1)
    assert [row.document_id for row in Document.objects.across_namespaces()] == ["other"]

    asked = alice.post(
        "/v1/erasures", ERASE | {"memory_ids": [str(DocumentChunk.objects.across_namespaces().get().memory_id)]}
    ).json()
    alice.post("/v1/documents", {"namespace": "alice", "document_id": "other", "text": "A newer text."})
    run_task("erase", alice.scope.namespace_id, asked["id"])
    assert_proved(receipt(alice, asked["id"]))
    assert Document.objects.across_namespaces().get().version == 2
    assert Memory.objects.across_namespaces().get().text == "A newer text."


def test_archived_and_edited_memories_go_with_their_former_text(alice, remember):
    from django.utils import timezone

    from memory.services.memories import edit
    from memory.types import system_access

    memory_id = remember(alice, SECRET)
    boss = system_access("staff:boss")
    edit.edit(boss, memory_id=uuid.UUID(memory_id), text="Harmless.", reason="typo", now=timezone.now())
    edit.archive(boss, memory_ids=[uuid.UUID(memory_id)], reason="old", now=timezone.now())

    shown = ask(alice, memory_ids=[memory_id])

    assert_proved(shown)
    assert shown["holders"]["memory_memoryversion"]["cleared"] == 1
    assert not Memory.objects.across_namespaces().filter(state=MemoryState.ARCHIVED).exists()
    assert not MemoryVersion.objects.across_namespaces().exists()


def test_turns_are_numbered_on_after_a_gap(alice, remember):
    ids = [remember(alice, f"turn {number}") for number in range(5)]

    ask(alice, memory_ids=[ids[1], ids[4]])
    remember(alice, "the next")

    assert list(Memory.objects.across_namespaces().order_by("turn").values_list("turn", flat=True)) == [1, 3, 4, 6]
    assert Session.objects.across_namespaces().get().message_count == 6
    ask(alice, memory_ids=[*ids, str(Memory.objects.across_namespaces().get(turn=6).pk)])
    assert not Session.objects.across_namespaces().exists()
    remember(alice, "from the start")
    assert Memory.objects.across_namespaces().get().turn == 1


def test_a_card_in_the_middle_goes_with_those_rolled_on_from_it_and_earlier_ones_stay(alice, remember, settings):
    settings.MEMOS_SUMMARY_BATCH_MESSAGES = 4
    ids = [remember(alice, f"Ann decided on plan {number} for the harbour.", speaker="Ann") for number in range(12)]
    run_task("condense_session", alice.scope.namespace_id, "s1")
    assert list(
        Condensation.objects.across_namespaces().order_by("number").values_list("covers_to_turn", flat=True)
    ) == [4, 8, 12]
    kept = Condensation.objects.across_namespaces().get(number=1).pk

    shown = ask(alice, memory_ids=[ids[5]])

    assert_proved(shown)
    cards = list(Condensation.objects.across_namespaces().order_by("number"))
    assert cards[0].pk == kept
    assert shown["holders"]["memory_condensation"]["cleared"] == 2
    # Turns 5 and 7 to 9; the last three wait for a fourth, as they do after any summary.
    assert [(card.number, card.covers_to_turn) for card in cards] == [(1, 4), (2, 9)]
    assert not any(ids[5] in str(card.item_sources) for card in cards)
    assert Session.objects.across_namespaces().get().summarised_turn == 9


def test_a_session_whose_listing_is_hidden_keeps_its_row_for_that(alice, remember):
    remember(alice, "first")
    reset = {"namespace": "alice", "session_id": "s1", "confirm": True, "clear_audit": True}
    alice.post("/v1/sessions/reset", reset)
    remember(alice, SECRET)

    shown = ask(alice, session_id="s1")

    assert_proved(shown)
    events = alice.get("/v1/ops/audit", namespace="alice", session_id="s1").json()["events"]
    assert [event["event_type"] for event in events][-1] == "SESSION_RESET"
    assert Session.objects.across_namespaces().get().audit_hidden_before is not None


def test_unknown_ids_and_those_of_others_are_missing_and_a_second_time_finds_nothing(alice, bob, remember):
    mine, theirs = remember(alice, SECRET), remember(bob, SECRET)

    first = ask(alice, memory_ids=[mine, mine, theirs, str(uuid.uuid4())])
    second = ask(alice, memory_ids=[mine])

    assert_proved(first)
    assert (first["named"], first["missing"], first["found"]) == (3, 2, 1)
    assert first["notes"][0] == "Named, but not there (any more): 2."
    assert_proved(second)
    assert (second["named"], second["missing"], second["found"]) == (1, 1, 0)
    assert Memory.objects.across_namespaces().get().namespace_id == bob.scope.namespace_id
    assert run_task("erase", alice.scope.namespace_id, first["id"]) is False


def test_one_idempotency_key_is_one_erasure(alice, remember):
    remember(alice, SECRET)
    body = ERASE | {"session_id": "s1"}

    answers = [alice.post("/v1/erasures", body, Idempotency_Key="k1") for _ in range(2)]
    other = alice.post("/v1/erasures", body | {"session_id": "s2"}, Idempotency_Key="k1")

    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert other.status_code == 409
    assert Erasure.objects.across_namespaces().count() == 1
    assert queued_jobs().count() == 1


def test_repeating_a_write_does_not_bring_back_what_was_erased(alice):
    turn = {"namespace": "alice", "session_id": "s1", "role": "user", "text": SECRET}
    document = {"namespace": "alice", "document_id": "d", "text": SECRET}
    written = alice.post("/v1/ingest", turn, Idempotency_Key="turn").json()
    stored = alice.post("/v1/documents", document, Idempotency_Key="document").json()
    assert all(record.body_hash for record in IdempotencyRecord.objects.all())

    shown = ask(alice, whole_namespace=True, confirm="alice")

    assert_proved(shown)
    assert shown["holders"]["memory_idempotencyrecord"] == {"counted": 2, "cleared": 2, "left": 0}
    assert {record.body_hash for record in IdempotencyRecord.objects.all()} == {""}
    assert alice.post("/v1/ingest", turn, Idempotency_Key="turn").json() == written
    assert alice.post("/v1/documents", document, Idempotency_Key="document").json() == stored
    assert not Memory.objects.across_namespaces().exists()


def test_audit_says_that_it_happened_and_not_what_was_said(alice, remember):
    ids = fill(alice, remember)

    shown = ask(alice, memory_ids=ids)

    events = {
        event.event_type: event
        for event in AuditLog.objects.across_namespaces().filter(event_type__startswith="ERASURE")
    }
    assert set(events) == {"ERASURE_REQUEST", "ERASURE_FINISH"}
    assert {event.subject for event in events.values()} == {shown["id"]}
    assert events["ERASURE_REQUEST"].details["reason"] == "redacted"
    assert events["ERASURE_FINISH"].details["cleared"]["memory_memory"] == 2
    assert events["ERASURE_FINISH"].details["proof"]["left"] == 0
    assert {event.actor for event in events.values()} == {alice.scope.actor}


def test_receipts_are_listed_newest_first_page_by_page(alice, bob, remember):
    made = [alice.post("/v1/erasures", ERASE | {"session_id": f"s{number % 2}"}).json()["id"] for number in range(5)]

    first = alice.get("/v1/erasures", limit="3").json()
    second = alice.get("/v1/erasures", limit="3", cursor=first["next_cursor"]).json()

    assert [row["id"] for row in first["erasures"] + second["erasures"]] == made[::-1]
    assert second["next_cursor"] is None
    assert len(alice.get("/v1/erasures", session_id="s1").json()["erasures"]) == 2
    assert alice.get("/v1/erasures", limit="0").status_code == 400


@pytest.mark.parametrize("target", ["memories", "session", "speaker", "namespace"])
def test_what_a_receipt_counts_is_what_it_clears(alice, remember, target):
    ids = fill(alice, remember)
    for text in ("Tove Hansen works for the harbour company.", "Tove Hansen lives in Bergen."):
        ids.append(remember(alice, text, session="s3", speaker="Ann"))
    query(alice, "Tove Hansen lives in Bergen.", session="s3")
    mark = {"namespace": "alice", "query": "Tove Hansen lives in Bergen."}
    other = Memory.objects.across_namespaces().exclude(pk__in=ids).filter(speaker="Ben").first()
    alice.post("/v1/judgements", mark | {"marks": [{"memory_id": str(other.pk), "relevant": False}]})
    index_pending(now=timezone.now())
    assert EntityAlias.objects.across_namespaces().exists()
    alice.client.delete(f"/v1/memories/{ids[0]}?reason=Ann+asked+for+it")
    body = {"memories": {"memory_ids": ids}, "session": {"session_id": "s3"}, "speaker": {"speaker": "Ann"},
            "namespace": {"whole_namespace": True, "confirm": "alice"}}[target]  # fmt: skip

    shown = ask(alice, **body)

    assert_proved(shown)
    differ = {name: entry for name, entry in shown["holders"].items() if entry["counted"] != entry["cleared"]}
    assert differ == {}


def test_the_audit_keeps_nothing_that_was_typed_and_its_chain_holds(alice, remember):
    ids = fill(alice, remember)
    said = "because Ann told the doctor about zinnober"
    etag = alice.get(f"/v1/memories/{ids[0]}").headers["ETag"]
    alice.client.patch(
        f"/v1/memories/{ids[0]}", data={"importance": 0.9, "reason": said}, content_type="application/json",
        headers={"If-Match": etag},
    )  # fmt: skip
    kept = remember(alice, "Tea is served at four.", session="s9")
    alice.client.delete(f"/v1/memories/{kept}?reason=served+at+five+now")
    chain.seal(now=timezone.now())
    events = AuditLog.objects.across_namespaces().filter(subject=ids[0], event_type="MEMORY_EDIT")
    assert [event.details["reason"] for event in events] == [said]
    assert said not in str(list(AuditLog.objects.across_namespaces().values_list("details", flat=True)))

    shown = ask(alice, memory_ids=ids)

    assert_proved(shown)
    assert [event.details["reason"] for event in events.all()] == ["redacted"]
    assert said not in str(list(AuditWords.objects.across_namespaces().values_list("words", flat=True)))
    request = AuditLog.objects.across_namespaces().get(event_type="ERASURE_REQUEST")
    assert request.details["reason"] == "redacted"
    assert shown["reason"] == ERASE["reason"]
    archived = AuditLog.objects.across_namespaces().get(subject=kept, event_type="MEMORY_ARCHIVE")
    assert archived.details["reason"] == "served at five now"
    chain.seal(now=timezone.now())
    proof = verify.verify()
    assert proof.faults == []
    assert proof.events > 0


def test_a_question_stands_in_the_audit_as_a_keyed_hash(alice, remember, settings):
    ids = fill(alice, remember)
    question = "What opens the safe?"
    digest = hashlib.sha256(question.encode()).hexdigest()
    subjects = set(
        AuditLog.objects.across_namespaces().filter(event_type="MEMORY_JUDGE").values_list("subject", flat=True)
    )
    assert len(subjects) == 1
    assert digest not in str(list(AuditLog.objects.across_namespaces().values()))
    assert subjects == {audit.hash_words(alice.scope, "question", question)}
    settings.MEMOS_KEY_PEPPER = "another"
    assert subjects != {audit.hash_words(alice.scope, "question", question)}
    assert ids


def test_a_receipt_says_what_the_audit_log_keeps(alice, remember):
    ids = fill(alice, remember)
    of_before = AuditLog.objects.create(
        namespace_id=alice.scope.namespace_id, namespace="alice", session="s1", event_type="MEMORY_ARCHIVE",
        actor="staff:ann", subject=ids[0], details={"reason": "typed before words were kept apart"},
    )  # fmt: skip

    shown = ask(alice, memory_ids=ids)

    assert shown["proof"]["audit"]["typed"] == 1
    assert shown["proof"]["audit"]["events"] > 1
    assert any("audit log" in note for note in shown["notes"])
    assert AuditLog.objects.across_namespaces().filter(pk=of_before.pk).exists()
