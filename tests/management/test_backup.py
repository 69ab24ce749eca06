"""Backups of a real database are made, verified, and restored whole or not at all, and erased data never comes back."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from psycopg import sql

from memory import ledger
from memory.enums import ErasureStatus
from memory.models import (
    ApiKey,
    AuditLog,
    ContextPack,
    Document,
    Erasure,
    Memory,
    MemoryUpkeep,
    Namespace,
    Session,
)
from memory.services.audit import chain, verify
from memory.services.backup import create, postgres, replay
from memory.services.backup.container import CHUNK_BYTES, Writer, digest_of
from memory.services.backup.verify import load
from memory.services.erasure import requests, run
from memory.services.erasure.requests import Target
from memory.services.ingestion.documents import delete_document, put_document
from memory.services.ingestion.ingest import ingest
from memory.services.retention.exemptions import exempt
from memory.services.sessions.reset import reset_session
from memory.services.tenancy.keys import issue_key, revoke_key
from memory.services.tenancy.policy import governing, put_policy
from memory.stores import redis as redis_store
from memory.stores import window
from memory.types import NewDocument, NewMemory, Scope
from tests.conftest import Tenant

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "a key that nobody guesses, made for tests"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def world(settings: Any, tmp_path: Path) -> Iterator[Path]:
    """Yield a separate database, which is a copy of the empty test database, and the folder of its backups."""
    folder = tmp_path / "backups"
    settings.MEMOS_BACKUP_DIR = str(folder)
    settings.MEMOS_ERASURE_LEDGER = str(folder / "erasures.ledger")
    settings.MEMOS_BACKUP_KEY = KEY
    usual = postgres.database_name()
    name = f"memos_{uuid.uuid4().hex[:12]}"
    connection.close()
    with postgres.connect(postgres.MAINTENANCE) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(usual)))
        try:
            with postgres.connect_to(name):
                yield folder
        finally:
            for (left,) in admin.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [name]
            ).fetchall():
                postgres.drop(admin, left)


@pytest.fixture
def alice(world: Path, make_tenant: Callable[..., Tenant]) -> Tenant:
    return make_tenant("alice")


def say(tenant: Tenant, text: str, *, session: str = "s1", speaker: str = "Ann") -> str:
    memory = NewMemory(session=session, role="user", text=text, speaker=speaker)
    return str(ingest(tenant.scope, memory=memory, now=timezone.now()).memory_ids[0])


def erase(tenant: Tenant, **target: Any) -> Erasure:
    asked = requests.request(
        tenant.scope, target=Target(**target), reason="asked for", now=timezone.now(), enqueue=False
    )
    run.carry_out(namespace_id=tenant.scope.namespace_id, erasure_id=asked.id, now=timezone.now, seconds=float("inf"))
    return Erasure.objects.get(namespace_id=tenant.scope.namespace_id, id=asked.id)


def back_up(*options: str) -> Path:
    out = StringIO()
    call_command("backup", "--json", *options, stdout=out)
    return Path(json.loads(out.getvalue())["path"])


def restore(path: Path, *options: str) -> str:
    out = StringIO()
    call_command("restore", str(path), *options, stdout=out)
    return out.getvalue()


def refused(path: Path, *options: str) -> CommandError:
    """Check that a restore is refused, changes nothing and leaves no database."""
    before, databases = texts(), names()
    with pytest.raises(CommandError) as failed:
        restore(path, *options)
    assert texts() == before
    assert names() == databases
    return failed.value


def texts() -> list[str]:
    return sorted(Memory.objects.across_namespaces().values_list("text", flat=True))


def names() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [postgres.database_name()])
        return {name for (name,) in cursor.fetchall()}


def found(tenant: Tenant, question: str) -> list[str]:
    answer = tenant.post("/v1/query", {"namespace": tenant.scope.namespace, "query": question, "session_id": "other"})
    assert answer.status_code == 200, answer.content
    return [chunk["text"] for chunk in answer.json()["raw_chunks"]]


class TestBackup:
    def test_what_was_backed_up_comes_back_and_is_found(self, alice, world):
        say(alice, "The ferry to Helgoland leaves at nine.")
        chain.seal(now=timezone.now())
        path = back_up("--verify")
        counted = {name: number for name, number in _counts().items() if name != "memory_auditlog"}
        say(alice, "Said after the backup.")

        said = restore(path, "--replace")

        assert texts() == ["The ferry to Helgoland leaves at nine."]
        assert found(alice, "When does the ferry leave?") == ["The ferry to Helgoland leaves at nine."]
        assert "audit events hold" in said
        left = {name: number for name, number in _counts().items() if name in counted}
        changed = {name for name in counted if left[name] != counted[name]}
        # The question was asked after the restore, and the index changes are forgotten; nothing else changed.
        assert changed <= {"memory_contextpack", "memory_indexchange", "memory_posting", "memory_requestminute"}
        event = AuditLog.objects.across_namespaces().get(event_type="RESTORE")
        assert event.subject == path.name
        assert event.details["sha256"] == digest_of(path)
        chain.seal(now=timezone.now())
        assert not verify.verify().faults
        assert names() == {postgres.database_name()}

    def test_the_file_is_for_us_only_and_recorded(self, alice, world):
        say(alice, "hello")
        path = back_up("--verify")

        assert path.stat().st_mode & 0o777 == 0o600
        assert world.stat().st_mode & 0o777 == 0o700
        assert [entry.name for entry in world.iterdir() if entry.name != "erasures.ledger"] == [path.name]
        event = AuditLog.objects.across_namespaces().get(event_type="BACKUP")
        assert (event.actor, event.subject, event.details["verified"]) == ("command:backup", path.name, True)
        assert event.details["sha256"] == digest_of(path)

    def test_without_a_key_it_is_not_encrypted_and_says_so(self, alice, world, settings):
        say(alice, "A sentence that can be read by anyone who has the file.")
        encrypted = back_up().read_bytes()
        settings.MEMOS_BACKUP_KEY = ""
        out = StringIO()
        call_command("backup", stdout=out)
        [plain] = [path for _, path in create.backups_in(world) if path.read_bytes() != encrypted]

        assert "not encrypted" in out.getvalue()
        assert "MEMOS_SECRET_KEY" in out.getvalue()
        assert b"memory_auditlog" in plain.read_bytes()
        assert b"memory_auditlog" not in encrypted
        restore(plain, "--replace")
        assert texts() == ["A sentence that can be read by anyone who has the file."]

    def test_no_secret_of_the_server_is_in_it(self, alice, world, settings):
        settings.MEMOS_BACKUP_KEY = ""
        say(alice, "hello")
        with postgres.maintenance() as admin, postgres.scratch(admin) as database:
            load(back_up(), key="", database=database)
            with postgres.connect(database) as restored:
                rows = restored.execute(
                    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
                ).fetchall()
                dumped = "".join(
                    str(restored.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name))).fetchall())
                    for (name,) in rows
                )
        assert "hello" in dumped
        for secret in (settings.SECRET_KEY, settings.MEMOS_KEY_PEPPER, alice.token):
            assert secret not in dumped

    def test_a_key_that_can_be_guessed_is_refused(self, alice, world, settings):
        settings.MEMOS_BACKUP_KEY = "short"
        with pytest.raises(CommandError, match="fewer than 16 characters"):
            back_up()

    def test_a_disk_that_is_full_half_way_leaves_no_file(self, alice, world):
        say(alice, "x " * 20_000)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        ledger.complete()
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
        try:
            with pytest.raises(CommandError, match="cannot be written") as failed:
                back_up()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert failed.value.returncode == 1
        assert create.backups_in(world) == []
        assert not list(world.glob("*partial"))
        assert not AuditLog.objects.across_namespaces().filter(event_type="BACKUP").exists()

    def test_pg_dump_that_is_missing_or_too_old_is_named(self, alice, world, monkeypatch):
        monkeypatch.setattr(postgres, "_candidates", lambda name: iter([Path("/nowhere/pg_dump")]))
        with pytest.raises(CommandError, match=r"needs pg_dump of version \d+ or later; there is none"):
            back_up()
        monkeypatch.setattr(postgres, "_candidates", lambda name: iter([Path(sys.executable)]))
        monkeypatch.setattr(postgres, "major_of", lambda tool: 9)
        with pytest.raises(CommandError, match=r"is of version 9\. Install postgresql-client"):
            back_up()

    def test_one_that_does_not_restore_what_it_should_is_no_backup(self, alice, world, monkeypatch):
        say(alice, "hello")
        counts = create.contents.counts
        calls = []

        def lose_one(reader: Any) -> dict[str, int]:
            calls.append(reader)
            return {**counts(reader), **({"memory_memory": 7} if len(calls) > 1 else {})}

        monkeypatch.setattr(create.contents, "counts", lose_one)
        with pytest.raises(CommandError, match="memory_memory: 7 of 1") as failed:
            back_up("--verify")
        assert failed.value.returncode == 5
        assert create.backups_in(world) == []

    def test_old_ones_are_deleted_and_the_newest_stays(self, alice, world):
        now = timezone.now()
        made = [
            create.make(world, key=KEY, verified=False, actor="tests", now=now - timedelta(days=days)).path
            for days in (40, 20, 10, 1)
        ]
        (world / "memos-notes.txt").write_text("mine")

        assert create.prune(world, keep=None, keep_days=None, now=now) == []
        assert create.prune(world, keep=2, keep_days=30, now=now) == [made[0]]
        assert create.prune(world, keep=2, keep_days=None, now=now) == [made[1]]
        assert create.prune(world, keep=None, keep_days=1, now=now + timedelta(days=90)) == [made[2]]
        assert [path for _, path in create.backups_in(world)] == [made[3]]
        assert (world / "memos-notes.txt").exists()


class TestDamage:
    @pytest.fixture
    def path(self, alice) -> Path:
        say(alice, "The ferry to Helgoland leaves at nine.")
        return back_up()

    @pytest.mark.parametrize("key", [KEY, ""])
    def test_an_altered_byte_is_found_before_anything_is_touched(self, alice, world, settings, key):
        settings.MEMOS_BACKUP_KEY = key
        say(alice, "hello")
        path = back_up()
        whole = path.read_bytes()
        for place in (3, 40, 200, len(whole) // 3, 2 * len(whole) // 3, len(whole) - 30, len(whole) - 1):
            data = bytearray(whole)
            data[place] ^= 1
            path.write_bytes(data)
            error = refused(path, "--replace")
            assert error.returncode == 3
            assert any(word in str(error) for word in ("altered", "not a backup", "another key", "cut off")), place

    def test_a_file_that_is_cut_off(self, path):
        whole = path.read_bytes()
        for share in (0.0, 0.01, 0.5, 0.999):
            path.write_bytes(whole[: int(share * len(whole))])
            error = refused(path, "--replace")
            assert error.returncode == 3
            assert "cut off" in str(error) or share == 0.0

    def test_parts_that_changed_places_or_were_added(self, path):
        whole = path.read_bytes()
        path.write_bytes(whole + b"x")
        assert "goes on after its end" in str(refused(path, "--replace"))

        file = path.with_name("two")
        with file.open("wb") as out:
            writer = Writer(out, key=KEY, manifest={}, created_at=timezone.now())
            writer.write(os.urandom(3 * CHUNK_BYTES))
            writer.finish()
        data = file.read_bytes()
        step = CHUNK_BYTES + 16 + 5
        start = data.index(b"}") + 1
        one, two = data[start : start + step], data[start + step : start + 2 * step]
        file.write_bytes(data[:start] + two + one + data[start + 2 * step :])
        assert "was altered" in str(refused(file, "--replace"))

    def test_another_key_and_none(self, path, settings):
        settings.MEMOS_BACKUP_KEY = KEY + "!"
        assert "another key" in str(refused(path, "--replace"))
        settings.MEMOS_BACKUP_KEY = ""
        error = refused(path, "--replace")
        assert "is encrypted: set MEMOS_BACKUP_KEY" in str(error)
        assert error.returncode == 3

    def test_a_file_that_is_not_there(self, world, alice):
        assert refused(world / "nothing.backup").returncode == 1


class TestRefused:
    def test_a_database_that_is_not_empty(self, alice):
        say(alice, "hello")
        path = back_up()
        say(alice, "later")
        error = refused(path)
        assert error.returncode == 4
        assert "--replace" in str(error)
        assert len(texts()) == 2

    def test_a_database_in_use(self, alice):
        path = back_up()
        with postgres.connect(postgres.database_name()):
            error = refused(path, "--replace")
        assert error.returncode == 4
        assert "in use" in str(error)
        restore(path, "--replace")

    def test_a_trial_replaces_nothing(self, alice):
        say(alice, "hello")
        path = back_up()
        say(alice, "later")
        with postgres.connect(postgres.database_name()):
            assert "Would restore" in restore(path, "--trial")
        assert texts() == ["hello", "later"]
        assert not AuditLog.objects.across_namespaces().filter(event_type="RESTORE").exists()

    def test_the_replaced_database_is_kept_when_asked(self, alice):
        path = back_up()
        say(alice, "later")
        said = restore(path, "--replace", "--keep-former")
        [former] = names() - {postgres.database_name()}
        assert former in said
        with postgres.connect_to(former):
            assert texts() == ["later"]

    def test_a_missing_ledger_and_one_from_before_the_backup(self, alice, world, settings):
        say(alice, "hello")
        first = back_up()
        kept = (world / "erasures.ledger").read_bytes()
        second = back_up()
        (world / "erasures.ledger").write_bytes(kept)
        assert "does not know this backup" in str(refused(second, "--replace"))
        restore(first, "--replace")

        (world / "erasures.ledger").unlink()
        error = refused(first, "--replace")
        assert error.returncode == 4
        assert "--without-ledger" in str(error)
        restore(first, "--replace", "--without-ledger")

    def test_a_damaged_ledger(self, alice, world):
        erase(alice, memory_ids=(uuid.UUID(say(alice, "hello")),))
        path = back_up()
        file = world / "erasures.ledger"
        data = bytearray(file.read_bytes())
        data[60] ^= 1
        file.write_bytes(data)
        assert "damaged in line 1" in str(refused(path, "--replace"))

    def test_another_secret(self, alice, settings):
        path = back_up()
        settings.MEMOS_KEY_PEPPER = "another"
        assert "another MEMOS_SECRET_KEY" in str(refused(path, "--replace"))
        restore(path, "--replace", "--other-secret")

    def test_a_backup_of_a_later_version(self, alice, world):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_x', now())")
        assert "later version of MemOS (it has memory.9999_x)" in str(refused(back_up(), "--replace"))

    def test_an_interrupted_restore_leaves_all_as_it_was(self, alice, monkeypatch):
        say(alice, "hello")
        path = back_up()
        say(alice, "later")

        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        for place in ("memory.services.backup.restore.replay", "memory.services.backup.postgres.put_in_place"):
            with monkeypatch.context() as patch:
                patch.setattr(place, interrupt)
                assert refused(path, "--replace").returncode == 130
        assert texts() == ["hello", "later"]

    def test_what_a_killed_process_left_goes_with_the_next(self, alice):
        path = back_up()
        with postgres.connect(postgres.MAINTENANCE) as admin:
            left = f"{postgres.database_name()}_scratch_left"
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(left)))
        restore(path, "--trial")
        assert names() == {postgres.database_name()}


class TestErased:
    """Data erased after a backup does not come back with it."""

    def test_memories_by_their_ids_wherever_they_were(self, alice):
        gone = say(alice, "The safe opens with zinnober.")
        say(alice, "The ferry leaves at nine.")
        found(alice, "What opens the safe?")
        assert ContextPack.objects.across_namespaces().count() == 1
        path = back_up()
        erased = erase(alice, memory_ids=(uuid.UUID(gone),))
        assert erased.status == ErasureStatus.FINISHED

        said = restore(path, "--replace")

        assert "1 erasures, 1 memories" in said
        assert texts() == ["The ferry leaves at nine."]
        assert not ContextPack.objects.across_namespaces().exists()
        assert "zinnober" not in str(found(alice, "What opens the safe?"))
        again = Erasure.objects.across_namespaces().get(id=erased.id)
        assert (again.status, again.proof["left"]) == (ErasureStatus.FINISHED, 0)
        # A later restore of the same backup carries out the erasures again.
        assert "1 erasures, 1 memories" in restore(path, "--replace")
        assert texts() == ["The ferry leaves at nine."]

    def test_into_an_empty_database_by_the_ledger_alone(self, alice):
        gone = say(alice, "The safe opens with zinnober.")
        say(alice, "The ferry leaves at nine.")
        path = back_up()
        erase(alice, memory_ids=(uuid.UUID(gone),))
        empty()
        restore(path)
        assert texts() == ["The ferry leaves at nine."]

    @pytest.mark.parametrize("target", [{"session": "s1"}, {"speaker": "Ann"}, {"whole_namespace": True}])
    def test_what_had_been_deleted_before_the_erasure_is_of_its_target_too(self, alice, target):
        say(alice, "Of the session, deleted and then erased.")
        path = back_up()
        reset_session(alice.scope, session="s1", dry_run=False, clear_audit=False, now=timezone.now())
        say(alice, "A second time in it.")
        erase(alice, **target)
        kept = say(alice, "Said after the erasure.", session="s1")
        later = back_up()
        empty()

        restore(path)
        assert texts() == []
        # The memory stored after the erasure is in the later backup and stays.
        restore(later, "--replace")
        assert [str(identity) for identity in Memory.objects.across_namespaces().values_list("pk", flat=True)] == [kept]

    def test_a_former_version_of_an_erased_document(self, alice):
        first = NewDocument(text="The first text of the letter, about zinnober.", document_id="letter")
        put_document(alice.scope, document=first, now=timezone.now())
        path = back_up()
        second = NewDocument(text="The second text of the letter.", document_id="letter")
        put_document(alice.scope, document=second, now=timezone.now())
        erase(alice, memory_ids=(Memory.objects.across_namespaces().get().pk,))
        empty()

        restore(path)
        assert texts() == []
        assert not Document.objects.across_namespaces().exists()

    def test_what_was_only_deleted_comes_back(self, alice):
        """Backups can bring back a document that was deleted by mistake."""
        put_document(alice.scope, document=NewDocument(text="A letter.", document_id="letter"), now=timezone.now())
        path = back_up()
        delete_document(alice.scope, document_id="letter", now=timezone.now())
        restore(path, "--replace")
        assert texts() == ["A letter."]

    def test_a_hold_that_the_backup_brings_back_gives_way(self, alice):
        held, other = (uuid.UUID(say(alice, text)) for text in ("held once", "held by the namespace"))
        exempt(alice.scope, memory_ids=[held], legal_hold=True, reason="lawsuit", now=timezone.now())
        put_policy(alice.scope, wanted={"legal_hold": True}, reason="lawsuit", now=timezone.now())
        path = back_up()
        put_policy(alice.scope, wanted={}, reason="over", now=timezone.now())
        exempt(alice.scope, memory_ids=[held], legal_hold=False, reason="over", now=timezone.now())
        assert erase(alice, memory_ids=(held,)).status == ErasureStatus.FINISHED

        restore(path, "--replace")

        assert texts() == ["held by the namespace"]
        assert governing(alice.scope.namespace_id).effective.policy.legal_hold is True
        assert Memory.objects.across_namespaces().get().pk == other

    def test_what_came_under_a_hold_and_was_kept_stays(self, alice, monkeypatch):
        ids = [uuid.UUID(say(alice, f"number {number}")) for number in range(4)]
        path = back_up()
        monkeypatch.setattr(run, "BATCH", 2)
        clear = run._Run._clear_batch

        def hold_the_last(self: Any, row: Any) -> Any:
            done = clear(self, row)
            if not MemoryUpkeep.objects.across_namespaces().filter(legal_hold=True).exists():
                exempt(alice.scope, memory_ids=[ids[3]], legal_hold=True, reason="lawsuit", now=timezone.now())
            return done

        monkeypatch.setattr(run._Run, "_clear_batch", hold_the_last)
        erase(alice, speaker="Ann")
        assert texts() == ["number 3"]
        monkeypatch.undo()
        empty()

        restore(path, "--ledger", str(ledger.path()))
        assert texts() == ["number 3"]

    def test_an_erasure_that_was_only_begun(self, alice, monkeypatch):
        gone = uuid.UUID(say(alice, "The safe opens with zinnober."))
        path = back_up()

        def die(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(run, "_lock", die)
            with pytest.raises(KeyboardInterrupt):
                erase(alice, memory_ids=(gone,))
        empty()
        restore(path)
        assert texts() == []

    def test_one_that_was_refused_for_a_hold_erases_nothing(self, alice):
        held = uuid.UUID(say(alice, "held"))
        path = back_up()
        asked = requests.request(alice.scope, target=Target(memory_ids=(held,)), reason="r", now=timezone.now())
        exempt(alice.scope, memory_ids=[held], legal_hold=True, reason="lawsuit", now=timezone.now())
        back_up()
        run.carry_out(namespace_id=asked.namespace_id, erasure_id=asked.id, now=timezone.now)
        assert Erasure.objects.across_namespaces().get().status == ErasureStatus.FAILED
        restore(path, "--replace")
        assert texts() == ["held"]

    def test_one_that_still_waits_is_not_lost(self, alice):
        gone = uuid.UUID(say(alice, "hello"))
        path = back_up()
        requests.request(alice.scope, target=Target(memory_ids=(gone,)), reason="r", now=timezone.now())
        restore(path, "--replace")
        assert texts() == []

    def test_redis_may_not_answer_for_a_while(self, alice, monkeypatch):
        gone = uuid.UUID(say(alice, "hello"))
        path = back_up()
        requests.request(alice.scope, target=Target(memory_ids=(gone,)), reason="r", now=timezone.now())
        waited: list[float] = []
        carry_out = run.carry_out

        def without_redis(**arguments: Any) -> bool:
            # After a failure, Redis is not used for a while.
            redis_store._paused_until = 0.0 if waited else time.monotonic() + 30
            return carry_out(**arguments)

        monkeypatch.setattr(replay.run, "carry_out", without_redis)
        # Only this module's `time.sleep` is replaced, since the restore itself waits for closing connections.
        monkeypatch.setattr(replay, "time", SimpleNamespace(monotonic=time.monotonic, sleep=waited.append))
        restore(path, "--replace")
        assert texts() == []
        assert waited == [replay.PAUSE_SECONDS]

    def test_a_number_that_was_given_to_another_namespace(self, alice, make_tenant, world):
        path = back_up()
        later = make_tenant("later")
        say(later, "Said in the namespace that goes.")
        erase(later, whole_namespace=True)
        restore(path, "--replace")
        # The sequence continues from the backup, so the number is used again.
        again = Namespace.objects.create(id=later.scope.namespace_id, name="other")
        other = Tenant(Scope(again.pk, "other", "tests"), "", later.client)
        say(other, "Another tenant's.")
        second = back_up()
        restore(second, "--replace")
        assert texts() == ["Another tenant's."]

    def test_a_revoked_key_stays_revoked(self, alice):
        key, _ = issue_key(name="gone", scopes=["read"], all_namespaces=True, actor="tests", now=timezone.now())
        path = back_up()
        revoke_key(key_id=key.pk, actor="tests", now=timezone.now())
        empty()
        assert "1 API keys revoked again" in restore(path)
        assert ApiKey.objects.get(pk=key.pk).revoked_at is not None

    def test_the_ledger_says_nothing_of_what_was_erased(self, alice, world):
        gone = say(alice, "The safe opens with zinnober.", session="ann@example.org", speaker="Ann Smith")
        erase(alice, session="ann@example.org")
        say(alice, "x", speaker="Ann Smith")
        erase(alice, speaker="Ann Smith")
        said = (world / "erasures.ledger").read_text()
        assert uuid.UUID(gone).hex in said
        for word in ("zinnober", "Ann", "example", "alice", "asked for"):
            assert word not in said
        assert (world / "erasures.ledger").stat().st_mode & 0o777 == 0o600


class TestLedger:
    def test_an_erasure_waits_while_the_ledger_cannot_be_written(self, alice, world, settings):
        gone = uuid.UUID(say(alice, "hello"))
        world.mkdir(exist_ok=True)
        (world / "file").write_text("")
        settings.MEMOS_ERASURE_LEDGER = str(world / "file" / "erasures.ledger")
        waits = erase(alice, memory_ids=(gone,))
        assert waits.status == ErasureStatus.WAITING
        assert "ledger cannot be written" in waits.waiting_for
        assert str(world) not in waits.waiting_for
        assert texts() == ["hello"]

        settings.MEMOS_ERASURE_LEDGER = str(world / "erasures.ledger")
        run.carry_out(namespace_id=waits.namespace_id, erasure_id=waits.id, now=timezone.now)
        assert Erasure.objects.across_namespaces().get(id=waits.id).status == ErasureStatus.FINISHED
        assert texts() == []

    def test_its_end_is_written_before_the_receipt_says_so(self, alice, monkeypatch):
        gone = uuid.UUID(say(alice, "hello"))

        def die(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(run, "_record", die)
            with pytest.raises(KeyboardInterrupt):
                erase(alice, memory_ids=(gone,))
        [erasure] = Erasure.objects.across_namespaces()
        assert erasure.status == ErasureStatus.RUNNING
        assert ledger.read(ledger.path()).erasures[erasure.id].state == "finished"
        run.carry_out(namespace_id=erasure.namespace_id, erasure_id=erasure.id, now=timezone.now)
        assert Erasure.objects.across_namespaces().get().status == ErasureStatus.FINISHED
        assert len(ledger.read(ledger.path()).erasures) == 1

    def test_a_line_that_a_crash_cut_off_says_nothing_and_goes(self, alice, world):
        erase(alice, memory_ids=(uuid.UUID(say(alice, "hello")),))
        file = world / "erasures.ledger"
        whole = file.read_bytes()
        file.write_bytes(whole + whole[:70])
        assert len(ledger.read(file).erasures) == 1
        erase(alice, memory_ids=(uuid.UUID(say(alice, "hello again")),))
        assert len(ledger.read(file).erasures) == 2
        assert file.read_bytes().startswith(whole)

    def test_writers_of_several_processes_do_not_mix_lines(self, world):
        writer = (
            "import django; django.setup()\n"
            "from django.utils import timezone\n"
            "from memory import ledger\n"
            "for number in range(50):\n"
            "    ledger.note_backup(f'PROCESS-{number}-' + 'x' * 3000, now=timezone.now())\n"
        )
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memos_site.settings",
            "MEMOS_ERASURE_LEDGER": str(world / "erasures.ledger"),
        }
        world.mkdir(exist_ok=True)
        started = [
            subprocess.Popen([sys.executable, "-c", writer.replace("PROCESS", name)], cwd=ROOT, env=environment)
            for name in ("a", "b")
        ]
        assert [process.wait(300) for process in started] == [0, 0]
        assert len(ledger.read(world / "erasures.ledger").backups) == 100

    def test_what_was_erased_before_there_was_a_ledger_is_added(self, alice, world, settings):
        gone = uuid.UUID(say(alice, "hello"))
        path = back_up()
        settings.MEMOS_ERASURE_LEDGER = "off"
        erase(alice, memory_ids=(gone,))
        settings.MEMOS_ERASURE_LEDGER = str(world / "erasures.ledger")
        assert ledger.complete() == 2
        assert ledger.complete() == 0
        empty()
        restore(path)
        assert texts() == []


class TestRedis:
    def test_nothing_that_was_accepted_is_only_in_redis(self, alice):
        say(alice, "The ferry leaves at nine.")
        gone = uuid.UUID(say(alice, "To be erased."))
        asked = requests.request(alice.scope, target=Target(memory_ids=(gone,)), reason="r", now=timezone.now())
        assert redis_store.forget_everything() > 0

        assert "The ferry leaves at nine." in found(alice, "When does the ferry leave?")
        run.carry_out(namespace_id=asked.namespace_id, erasure_id=asked.id, now=timezone.now)
        assert texts() == ["The ferry leaves at nine."]

    def test_a_window_of_the_replaced_database_is_gone(self, alice):
        path = back_up()
        say(alice, "Of the database that goes.")
        assert window.read(alice.scope.namespace_id, "s1")
        restore(path, "--replace")
        assert window.read(alice.scope.namespace_id, "s1") == []
        assert not Session.objects.across_namespaces().exists()


def empty() -> None:
    """Create a new, empty database of the same name, as after the loss of a disk."""
    name = postgres.database_name()
    connection.close()
    with postgres.connect(postgres.MAINTENANCE) as admin:
        postgres.drop(admin, name)
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def _counts() -> dict[str, int]:
    with psycopg.connect(**postgres._parameters(postgres.database_name())) as reader:
        return create.contents.counts(reader)
