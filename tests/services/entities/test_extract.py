"""The entity layer follows the memories: it reads them in the background, and hides, changes and deletes with them."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory.models import (
    AuditLog,
    Entity,
    EntityAlias,
    EntityMention,
    EntityPending,
    EntityRelation,
    EntityWatermark,
    Memory,
)
from memory.services.entities import extract
from memory.services.ingestion.documents import put_document
from memory.services.memories import edit
from memory.services.sessions.reset import reset_session
from memory.types import NewDocument, system_access


def read() -> int:
    return extract.index_pending(now=timezone.now())


def entity_of(tenant, name) -> str:
    """Return the name of the entity that `name` refers to."""
    alias = EntityAlias.objects.in_scope(tenant.scope).get(name=name, variant=0)
    return Entity.objects.in_scope(tenant.scope).get(id=alias.entity).name


def names(tenant, *, active=True) -> set[str]:
    mentions = EntityMention.objects.in_scope(tenant.scope).filter(active=active).values("alias")
    return set(EntityAlias.objects.in_scope(tenant.scope).filter(id__in=mentions).values_list("name", flat=True))


def test_names_and_relations_are_read_with_their_places(alice, remember):
    text = "My sister Anna works at Siemens in Munich."
    memory_id = remember(alice, text, speaker="Caroline Smith")

    assert read() == 1
    assert names(alice) == {"Caroline Smith", "Anna", "Siemens", "Munich"}
    mention = EntityMention.objects.across_namespaces().get(
        alias=EntityAlias.objects.across_namespaces().get(name="Siemens").id
    )
    assert (str(mention.memory_id), text[mention.start : mention.end]) == (memory_id, "Siemens")
    by_id = dict(EntityAlias.objects.across_namespaces().values_list("id", "name"))
    assert {
        (by_id[row.subject], row.predicate, by_id[row.object], row.detail)
        for row in EntityRelation.objects.across_namespaces()
    } == {
        ("Anna", "works_at", "Siemens", ""),
        ("Caroline Smith", "family", "Anna", "sister"),
    }


def test_a_second_run_reads_nothing_and_changes_nothing(alice, remember):
    remember(alice, "Anna moved to Berlin.")
    read()
    before = list(EntityMention.objects.across_namespaces().order_by("id").values())

    assert read() == 0
    assert list(EntityMention.objects.across_namespaces().order_by("id").values()) == before


def test_a_run_goes_on_where_the_last_one_ended(alice, remember, monkeypatch):
    monkeypatch.setattr(extract, "BATCH", 2)
    for number in range(5):
        remember(alice, f"Anna saw {number} films with Tom.")

    assert extract.index_pending(now=timezone.now(), seconds=0) == 2
    assert EntityWatermark.objects.across_namespaces().get().turn == 2
    assert read() == 3
    assert EntityMention.objects.across_namespaces().count() == 10


def test_an_unnamed_user_has_relations_as_user(alice, remember):
    remember(alice, "I live in Berlin.")
    remember(alice, "I live in Paris.", role="agent")
    read()

    by_id = dict(EntityAlias.objects.across_namespaces().values_list("id", "name"))
    assert [
        (by_id[row.subject], row.predicate, by_id[row.object]) for row in EntityRelation.objects.across_namespaces()
    ] == [("user", "lives_in", "Berlin")]


def test_a_first_name_is_short_for_the_only_full_name_of_its_session(alice, remember):
    remember(alice, "I met Anna Keller yesterday.")
    remember(alice, "Then Anna told me about Tom.")
    read()

    assert entity_of(alice, "Anna") == "Anna Keller"


def test_a_second_full_name_takes_them_apart_again(alice, remember):
    remember(alice, "I met Anna Keller yesterday.")
    remember(alice, "Then Anna told me about Tom.")
    read()
    remember(alice, "I also met Anna Schmidt today.", session="s2")
    read()

    assert entity_of(alice, "Anna") == "Anna"
    assert entity_of(alice, "Anna Keller") == "Anna Keller"
    assert entity_of(alice, "Anna Schmidt") == "Anna Schmidt"


def test_names_of_two_sessions_stay_apart(alice, remember):
    remember(alice, "I met Anna Keller yesterday.", session="s1")
    remember(alice, "Then Anna told me about Tom.", session="s2")
    read()

    assert entity_of(alice, "Anna") == "Anna"


def test_a_speaker_is_not_somebody_who_is_spoken_of(alice, remember):
    remember(alice, "I love the songs of John Lennon.", speaker="John")
    read()

    assert entity_of(alice, "John") == "John"


@pytest.mark.parametrize(
    ("text", "name"),
    [("Call me Caro.", "Caro"), ("My name is Caroline Smith.", "Caroline Smith"), ("大家都叫我王小明。", "王小明")],
)
def test_a_name_that_is_stated_stands_for_the_speaker(alice, remember, text, name):
    remember(alice, text, speaker="Caroline")
    read()

    assert entity_of(alice, name) == "Caroline"


def test_a_name_that_two_claim_stays_apart(alice, remember):
    remember(alice, "Call me Sammy.", speaker="Caroline")
    remember(alice, "Call me Sammy.", speaker="Tom")
    read()

    assert entity_of(alice, "Sammy") == "Sammy"


def test_names_in_two_scripts_are_one_when_brackets_say_so(alice, remember):
    remember(alice, "我住在北京（Beijing）。", speaker="王芳")
    read()

    assert entity_of(alice, "Beijing") == "北京"


def test_an_archived_memory_takes_its_entities_along_and_brings_them_back(alice, remember):
    memory_id = uuid.UUID(remember(alice, "I live in Berlin.", speaker="Tom"))
    read()
    access = system_access("tests")

    edit.archive(access, memory_ids=[memory_id], reason="test", now=timezone.now())
    assert names(alice) == set()
    assert not EntityRelation.objects.across_namespaces().filter(active=True).exists()

    edit.restore(access, memory_ids=[memory_id], reason="test", now=timezone.now())
    assert names(alice) == {"Tom", "Berlin"}
    assert read() == 1
    assert names(alice) == {"Tom", "Berlin"}
    assert EntityRelation.objects.across_namespaces().filter(active=True).count() == 1


def test_a_memory_archived_before_it_was_read_is_read_when_it_is_back(alice, remember):
    memory_id = uuid.UUID(remember(alice, "I live in Berlin.", speaker="Tom"))
    access = system_access("tests")
    edit.archive(access, memory_ids=[memory_id], reason="test", now=timezone.now())
    read()
    assert not Entity.objects.across_namespaces().exists()

    edit.restore(access, memory_ids=[memory_id], reason="test", now=timezone.now())
    read()
    assert names(alice) == {"Tom", "Berlin"}


def test_an_edited_memory_is_read_again(alice, remember):
    memory_id = uuid.UUID(remember(alice, "Tom lives in Berlin.", speaker="Ann"))
    read()
    edit.edit(system_access("t"), memory_id=memory_id, reason="test", text="Tom lives in Paris.", now=timezone.now())

    assert not EntityMention.objects.across_namespaces().exists()
    assert EntityPending.objects.across_namespaces().count() == 1
    assert read() == 1
    assert names(alice) == {"Ann", "Tom", "Paris"}
    assert not EntityPending.objects.across_namespaces().exists()


def test_nothing_is_left_of_a_name_that_only_deleted_memories_had(alice, remember):
    remember(alice, "Tom lives in Berlin.", speaker="Ann")
    kept = remember(alice, "Tom saw Vienna.", session="s2", speaker="Ann")
    read()
    reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=timezone.now())

    assert {str(row.memory_id) for row in EntityMention.objects.across_namespaces()} == {kept}
    assert not EntityRelation.objects.across_namespaces().exists()
    assert extract.forget_unmentioned(alice.scope) == 2
    assert set(Entity.objects.across_namespaces().values_list("name", flat=True)) == {"Ann", "Tom", "Vienna"}
    assert extract.forget_unmentioned_everywhere() == 0


def test_a_statement_that_was_deleted_is_no_longer_believed(alice, remember):
    remember(alice, "Call me Caro.", speaker="Caroline")
    remember(alice, "Hi Caro!", session="s2", speaker="Tom")
    read()
    assert entity_of(alice, "Caro") == "Caroline"
    reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=timezone.now())
    extract.forget_unmentioned(alice.scope)

    assert entity_of(alice, "Caro") == "Caro"
    assert not EntityAlias.objects.across_namespaces().filter(name="Caroline").exists()


def test_a_session_that_was_emptied_is_read_from_its_beginning(alice, remember):
    for _ in range(3):
        remember(alice, "Tom lives in Berlin.")
    read()
    reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=timezone.now())
    remember(alice, "Tom lives in Paris.")

    assert read() == 1


def test_turns_that_were_deleted_do_not_stop_a_session(alice, remember):
    remember(alice, "Tom lives in Berlin.")
    Memory.objects.in_scope(alice.scope).delete()
    read()

    assert EntityWatermark.objects.across_namespaces().get().turn == 1
    assert read() == 0


def test_documents_are_read_and_read_again_in_a_new_version(alice):
    for text in ("Tom lives in Berlin.", "Tom lives in Paris."):
        put_document(alice.scope, document=NewDocument(text=text, document_id="d"), now=timezone.now())
        read()

    assert names(alice) == {"Tom", "Paris"}
    assert read() == 0


def test_a_rebuild_reads_everything_again_and_says_so(alice, remember):
    remember(alice, "Tom lives in Berlin.")
    read()
    EntityMention.objects.across_namespaces().delete()
    extract.rebuild(alice.scope, now=timezone.now())

    assert read() == 1
    assert names(alice) == {"Tom", "Berlin"}
    assert AuditLog.objects.across_namespaces().filter(event_type="ENTITY_REBUILD").count() == 1


def test_tenants_share_no_entity(alice, bob, remember):
    remember(alice, "Tom lives in Berlin.")
    remember(bob, "Tom lives in Paris.")
    read()

    assert names(alice) == {"Tom", "Berlin"}
    assert names(bob) == {"Tom", "Paris"}
    assert EntityAlias.objects.across_namespaces().filter(name="Tom").values("entity").distinct().count() == 2


@pytest.mark.django_db(transaction=True)
def test_memories_in_use_are_left_for_the_next_run(alice, remember):
    memory_id = remember(alice, "Tom lives in Berlin.")

    def run() -> int:
        try:
            return read()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            list(Memory.objects.across_namespaces().filter(pk=memory_id).select_for_update())
            assert pool.submit(run).result() == 0
        assert pool.submit(run).result() == 1
    assert names(alice) == {"Tom", "Berlin"}


@pytest.mark.django_db(transaction=True)
def test_of_two_runs_at_once_one_reads(alice, remember):
    for number in range(30):
        remember(alice, f"Tom lives in Berlin since {number} days.", session=f"s{number % 3}")

    def run(_: int) -> int:
        try:
            return read()
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(run, range(2))) == 30
    assert EntityMention.objects.across_namespaces().count() == 60
