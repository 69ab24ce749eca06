"""`/ops/activation/`: staff who reach a namespace see its caches of prefixes, and build and drop them if permitted."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memory.models import ActivationCache, AuditLog
from memory.services.cubes.create import register_cube
from memory.stores.activation_folder import name_file, open_folder
from memory.types import system_access
from tests.ops.conftest import World, scope_of

PAGE = "/ops/activation/"
MAY = ("memory.add_activationcache", "memory.delete_activationcache")


@pytest.fixture
def folder(settings, tmp_path) -> Path:
    settings.MEMOS_ACTIVATION_DIR = str(tmp_path)
    return tmp_path


def make_cache(namespace: str, model: str) -> ActivationCache:
    folder, identity = open_folder(), uuid.uuid4()
    assert folder is not None
    name = name_file(model_sha256="a" * 64, prefix_sha256="b" * 64, cache_id=identity, ending="slot")
    (folder.path / name).write_bytes(b"keys and values")
    return ActivationCache.objects.create(
        id=identity, namespace_id=scope_of(namespace).namespace_id, engine="llamacpp", model=model, state="ready",
        model_sha256="a" * 64, form="answer", prefix_sha256="b" * 64, folder_id=folder.id, file=name, bytes=15,
        tokens=321, created_at=timezone.now(),
    )  # fmt: skip


def text(client: Any, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_what_is_reached_is_listed_and_nothing_else_is_done(grant_console, world: World, folder):
    own, other = make_cache("harbour", "llamacpp/own"), make_cache("bakery", "llamacpp/other")
    clerk = grant_console("harbour")

    shown = text(clerk, PAGE)
    assert "llamacpp/own" in shown
    assert "321" in shown
    assert "llamacpp/other" not in shown
    assert clerk.post(f"{PAGE}build/?ns=harbour", {"form": "answer"}).status_code == 403
    assert clerk.post(f"{PAGE}{own.pk}/drop/").status_code == 403
    keeper = grant_console("harbour", permissions=MAY)
    assert keeper.post(f"{PAGE}{other.pk}/drop/").status_code == 404
    assert keeper.post(f"{PAGE}build/?ns=bakery", {"form": "answer"}).status_code == 404
    assert ActivationCache.objects.across_namespaces().filter(state="ready").count() == 2


def test_a_cache_is_dropped_with_its_file(staff, world: World, folder):
    row = make_cache("harbour", "llamacpp/own")

    assert staff.post(f"{PAGE}{row.pk}/drop/").status_code == 302
    assert not ActivationCache.objects.in_scope(world.harbour).exists()
    assert [path.name for path in folder.iterdir()] == [".memos-activation"]
    event = AuditLog.objects.in_scope(world.harbour).get(event_type="ACTIVATION_DROP")
    assert event.actor.startswith("staff:")
    assert staff.post(f"{PAGE}{row.pk}/drop/").status_code == 404


def test_what_stands_in_the_way_is_said(staff, world: World):
    def build() -> str:
        return str(staff.post(f"{PAGE}build/?ns=harbour", {"form": "answer"}).content.decode())

    assert "harbour is not one yet" in build()
    cube = register_cube(system_access("tests"), namespace="harbour", name="The port's", now=timezone.now())
    lacking = build()
    assert "does not hold activation caches" in lacking
    assert f'href="/ops/cubes/{cube.pk}/?ns=harbour#change"' in lacking
    body = {"do": "change", "name": "The port's", "revision": cube.revision, "kinds": "activation"}
    staff.post(f"/ops/cubes/{cube.pk}/change/", body)
    assert "No folder for activation caches is set up: set MEMOS_ACTIVATION_DIR" in build()
