"""A cache lives as long as its memories stay the same: when it is changed, erased, killed or evicted, its file goes
too.

Computing it writes arbitrary bytes here, because that is not tested (`tests/api/test_activation.py` has a model).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from memory.enums import ActivationEngine, PromptForm
from memory.errors import Conflict
from memory.models import ActivationCache, AuditLog, Cube
from memory.services.activation import build as building
from memory.services.activation.build import build
from memory.services.activation.engines import WrittenCache
from memory.services.activation.upkeep import keep_up
from memory.services.cubes.create import register_cube
from memory.services.erasure import requests as erasures
from memory.services.erasure import run as erasing
from memory.services.erasure.requests import Target
from memory.types import system_access
from tests.job_queue import work_off

EVERYTHING = system_access("tests")


@dataclass
class BytesWriter:
    """An engine that writes `size` bytes, and calls `meanwhile` while it does."""

    size: int = 1_000
    meanwhile: Callable[[], Any] = lambda: None
    ending = "slot"
    model_sha256 = "a" * 64
    runs: int = 0

    def write(self, prefix: str, form: PromptForm, folder: Any, name: str) -> WrittenCache:
        self.runs += 1
        folder.path_of(name).write_bytes(prefix.encode().ljust(self.size, b"\0"))
        self.meanwhile()
        return WrittenCache(len(prefix), self.size, 1)


@pytest.fixture
def engine(monkeypatch) -> BytesWriter:
    writer = BytesWriter()
    monkeypatch.setattr(building, "choose_engine", lambda *_, **__: ("llamacpp/m", writer))
    return writer


@pytest.fixture
def folder(settings, tmp_path) -> Path:
    settings.MEMOS_ACTIVATION_DIR = str(tmp_path)
    return tmp_path


@pytest.fixture
def remember_pinned(remember) -> Callable[..., uuid.UUID]:
    def run(tenant: Any, text: str) -> uuid.UUID:
        memory_id = remember(tenant, text, speaker="Tom")
        assert tenant.post(f"/v1/memories/{memory_id}/pin", {}).status_code == 200
        return uuid.UUID(memory_id)

    return run


@pytest.fixture
def pinned(alice, remember_pinned, folder, engine) -> uuid.UUID:
    make_cube(alice)
    return remember_pinned(alice, "Priya reviews the migration before the release.")


def make_cube(tenant: Any) -> None:
    kinds = ("textual", "activation")
    register_cube(EVERYTHING, namespace=tenant.scope.namespace, name="Notes", kinds=kinds, now=timezone.now())


def run_build(tenant: Any, form: PromptForm = PromptForm.ANSWER) -> uuid.UUID | None:
    return build(tenant.scope, engine=ActivationEngine.LLAMACPP, form=form, model="", clock=timezone.now)


def caches_of(tenant: Any) -> list[ActivationCache]:
    return list(ActivationCache.objects.in_scope(tenant.scope).order_by("id"))


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".memos-activation")


def keep_up_and_build() -> int:
    gone = keep_up(now=timezone.now())
    work_off()
    return gone


def erase(tenant: Any, *memory_ids: uuid.UUID) -> Any:
    asked = erasures.request(tenant.scope, target=Target(memory_ids=list(memory_ids)), reason="x", now=timezone.now())
    work_off()
    return asked


def receipt_of(tenant: Any, asked: Any) -> Any:
    erasing.carry_out(namespace_id=asked.namespace_id, erasure_id=asked.id, now=timezone.now)
    return tenant.get(f"/v1/erasures/{asked.id}").json()


@pytest.mark.parametrize("change", ["edit", "unpin", "supersede", "archive"])
def test_a_memory_that_changes_takes_its_cache_with_it(alice, pinned, folder, remember, remember_pinned, change):
    stays = remember_pinned(alice, "The harbour opens at six.")
    first = run_build(alice)
    (before,) = files_in(folder)
    assert set(caches_of(alice)[0].memory_ids) == {pinned, stays}

    path = f"/v1/memories/{pinned}"
    if change == "edit":
        done = alice.client.patch(
            path, {"text": "Jonas reviews it.", "reason": "he said so"}, content_type="application/json"
        )
    elif change == "unpin":
        done = alice.post(f"{path}/unpin", {})
    elif change == "supersede":
        newer = remember(alice, "Jonas reviews the migration now.")
        done = alice.post(f"{path}/supersede", {"by": newer, "reason": "newer"})
    else:
        done = alice.client.delete(f"{path}?reason=done")
    assert done.status_code == 200, done.content

    # The first cache is used no more from that moment; then it is removed, and built again without the memory.
    assert [(one.pk, one.state, one.reason) for one in caches_of(alice)] == [(first, "stale", "memory")]
    assert keep_up_and_build() == 1
    (after,) = caches_of(alice)
    assert (after.state, files_in(folder)) == ("ready", [after.file])
    assert after.file != before
    assert (pinned in after.memory_ids) == (change == "edit")


def test_an_erased_memory_takes_the_file_with_it(
    alice, bob, pinned, folder, remember_pinned, settings, tmp_path_factory
):
    stays = remember_pinned(alice, "The harbour opens at six.")
    make_cube(bob)
    remember_pinned(bob, "Bob sails on Sundays.")
    run_build(alice)
    run_build(bob)
    (cache,) = caches_of(alice)

    # A machine without the folder cannot tell that the file is gone.
    settings.MEMOS_ACTIVATION_DIR = str(tmp_path_factory.mktemp("another"))
    asked = erase(alice, pinned)
    receipt = receipt_of(alice, asked)
    assert receipt["status"] == "waiting"
    assert str(cache.folder_id) in receipt["waiting_for"]
    assert cache.file in files_in(folder)

    settings.MEMOS_ACTIVATION_DIR = str(folder)
    receipt = receipt_of(alice, asked)
    assert receipt["status"] == "finished"
    assert receipt["holders"]["memory_activationcache"] == {"counted": 1, "cleared": 1, "left": 0}
    assert files_in(folder) == [one.file for one in caches_of(bob)]
    work_off()
    assert [one.memory_ids for one in caches_of(alice)] == [[stays]]


def test_a_folder_that_is_lost_can_be_forgotten(alice, pinned, folder, settings, capsys):
    run_build(alice)
    (cache,) = caches_of(alice)
    settings.MEMOS_ACTIVATION_DIR = ""
    asked = erase(alice, pinned)
    assert receipt_of(alice, asked)["status"] == "waiting"

    call_command("abandon_activation", str(cache.folder_id))

    assert "Forgot 1 " in capsys.readouterr().out
    assert receipt_of(alice, asked)["status"] == "finished"


def test_a_memory_that_is_erased_while_its_cache_is_written(alice, pinned, folder, engine):
    """The receipt waits for the writing worker, and no file is left when that has ended."""
    receipts = []

    def erase_it() -> None:
        receipts.append(receipt_of(alice, erase(alice, pinned)))

    engine.meanwhile = erase_it
    assert run_build(alice) is None

    assert files_in(folder) == []
    assert caches_of(alice) == []
    assert receipts[0]["status"] in {"waiting", "finished"}


def test_a_memory_that_is_erased_before_the_row_is_there(alice, pinned, folder, engine, monkeypatch):
    render = building.render_prefix
    seen = []

    def render_and_erase(*arguments: Any, **options: Any) -> Any:
        prefix = render(*arguments, **options)
        if not seen:
            seen.append(receipt_of(alice, erase(alice, pinned)))
        return prefix

    monkeypatch.setattr(building, "render_prefix", render_and_erase)
    assert run_build(alice) is None

    assert seen[0]["status"] == "finished"
    assert (engine.runs, files_in(folder), caches_of(alice)) == (0, [], [])


def test_a_build_that_fails_leaves_nothing(alice, pinned, folder, engine):
    def fail() -> None:
        raise Conflict("The model is away.")

    engine.meanwhile = fail
    with pytest.raises(Conflict):
        run_build(alice)
    assert (files_in(folder), caches_of(alice)) == ([], [])


def test_a_build_that_was_killed_is_found_and_taken_up_again(alice, pinned, folder):
    run_build(alice)
    (cache,) = caches_of(alice)
    own = ActivationCache.objects.in_scope(alice.scope)
    # This is the state that a worker leaves if it is killed while the model's server writes.
    own.update(state="building", bytes=0, written_at=timezone.now())
    asked = erase(alice, pinned)
    assert receipt_of(alice, asked)["status"] == "waiting"
    assert keep_up(now=timezone.now()) == 0

    long_ago = timezone.now() - timedelta(minutes=5)
    own.update(created_at=long_ago, written_at=long_ago)
    assert receipt_of(alice, asked)["status"] == "finished"
    assert cache.file not in files_in(folder)


def test_what_no_trigger_sees_is_found(alice, pinned, folder, remember_pinned, engine):
    first = run_build(alice)
    # The file of a row has other contents, or is gone.
    (folder / caches_of(alice)[0].file).write_bytes(b"short")
    assert keep_up_and_build() == 1
    # With one more pinned memory the prefix is different.
    remember_pinned(alice, "The harbour opens at six.")
    assert keep_up_and_build() == 1
    (cache,) = caches_of(alice)
    assert cache.pk != first
    assert len(cache.memory_ids) == 2
    # Files without a row are removed, and others' files stay.
    orphan = f"memos-{'0' * 12}-{'1' * 12}-{uuid.uuid4().hex}"
    (folder / f"{orphan}.slot").write_bytes(b"left")
    (folder / f"{orphan}.part").write_bytes(b"half")
    (folder / "somebody's.txt").write_bytes(b"theirs")
    assert keep_up_and_build() == 0
    assert files_in(folder) == sorted([cache.file, "somebody's.txt"])
    # When activation memory is turned off, the caches are removed and stay away.
    Cube.objects.in_scope(alice.scope).update(kinds=["textual"])
    assert keep_up_and_build() == 1
    assert (caches_of(alice), files_in(folder)) == ([], ["somebody's.txt"])
    assert run_build(alice) is None


def test_the_budget_holds_whosever_the_caches_are(alice, bob, pinned, folder, engine, remember_pinned, settings):
    settings.MEMOS_ACTIVATION_BYTES = 2_500_000
    engine.size = 1_000_000
    make_cube(bob)
    remember_pinned(bob, "Bob sails on Sundays.")
    run_build(alice)
    run_build(bob)
    (bobs,) = caches_of(bob)
    ActivationCache.objects.in_scope(alice.scope).update(used_at=timezone.now() + timedelta(minutes=1))

    run_build(alice, PromptForm.COMPLETION)

    assert caches_of(bob) == []
    assert len(files_in(folder)) == 2
    events = AuditLog.objects.in_scope(bob.scope).filter(event_type="ACTIVATION_DROP", subject=str(bobs.pk))
    assert events.get().details["why"] == "budget"
    engine.size = 3_000_000
    remember_pinned(alice, "The harbour opens at six.")
    with pytest.raises(Conflict, match="MEMOS_ACTIVATION_BYTES"):
        run_build(alice)
    assert len(files_in(folder)) == 2


def test_an_erasure_of_the_whole_namespace_takes_all(alice, pinned, folder):
    run_build(alice)
    run_build(alice, PromptForm.COMPLETION)
    asked = erasures.request(alice.scope, target=Target(whole_namespace=True), reason="x", now=timezone.now())
    assert receipt_of(alice, asked)["status"] == "finished"
    assert (files_in(folder), caches_of(alice)) == ([], [])
