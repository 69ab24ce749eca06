"""`/ops/imports/`: permitted staff preview, import and follow files, in namespaces that they reach."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memory.models import ImportPart, Memory, MemoryImport
from memory.services.imports import requests, run
from tests.ops.conftest import World, scope_of
from tests.services.imports.exports import archive, chatgpt

PAGE = "/ops/imports/"
MAY = ("memory.add_memoryimport", "ops.view_memory_text")
LINES = b"[2026-05-08] - The harbour opens at six.\n[2026-99-99] - No such day.\n"


def start(namespace: str, content: bytes = LINES, name: str = "ada's memories.txt") -> MemoryImport:
    upload = requests.ImportUpload(name, [content], speaker="Ada")
    return requests.start_import(scope_of(namespace), upload, now=timezone.now())


def finish(row: MemoryImport) -> None:
    run.carry_out(namespace_id=row.namespace_id, import_id=row.id, now=timezone.now)


def text(client: Any, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def export() -> SimpleUploadedFile:
    return SimpleUploadedFile("export.zip", archive({"conversations.json": [chatgpt()]}))


@pytest.fixture
def followed(world: World) -> MemoryImport:
    """Start an import of harbour and one of bakery, and return the first."""
    start("bakery", name="the baker's.txt")
    return start("harbour")


def test_what_is_reached_is_listed(grant_console, followed):
    shown = text(grant_console("harbour", permissions=MAY), PAGE)

    assert "ada&#x27;s memories.txt" in shown
    assert "baker" not in shown
    assert "Choose a namespace above" in shown
    assert "Start the import" in text(grant_console("harbour", permissions=MAY), f"{PAGE}?ns=harbour")


def test_names_are_masked_for_who_may_not_read_texts(grant_console, followed):
    clerk = grant_console("harbour")

    for shown in (text(clerk, PAGE), text(clerk, f"{PAGE}{followed.id}/")):
        assert not re.search(r"\bada\b", shown.lower())
        assert "•••" in shown


def test_out_of_reach_or_without_the_permission_nothing_is_done(grant_console, followed):
    baker = grant_console("bakery", permissions=MAY)
    assert baker.get(f"{PAGE}{followed.id}/").status_code == 404
    assert baker.post(f"{PAGE}{followed.id}/cancel/").status_code == 404
    for action in ("create", "preview"):
        assert baker.post(f"{PAGE}{action}/?ns=harbour", {"text": "x"}).status_code == 404

    clerk = grant_console("harbour")
    for action in ("create", "preview"):
        assert clerk.post(f"{PAGE}{action}/?ns=harbour", {"text": "x"}).status_code == 403
    assert clerk.post(f"{PAGE}{followed.id}/cancel/").status_code == 403
    assert "Start the import" not in text(clerk, f"{PAGE}?ns=harbour")
    assert MemoryImport.objects.across_namespaces().filter(finished_at=None).count() == 2


def test_a_preview_stores_nothing(staff, world):
    before = Memory.objects.across_namespaces().count()
    answer = staff.post(f"{PAGE}preview/?ns=harbour", {"file": export()}, headers={"HX-Request": "true"})

    shown = answer.content.decode()
    assert "Preview: ChatGPT" in shown
    assert "answers that were regenerated or edited away" in shown
    assert "2024-07-01" in shown
    assert not MemoryImport.objects.across_namespaces().exists()
    assert Memory.objects.across_namespaces().count() == before


@pytest.mark.parametrize(("content", "says"), [(b"\x80\x04]\x94.", "Python pickle"), (b"", "is empty")])
@pytest.mark.parametrize("action", ["preview", "create"])
def test_a_refusal_says_why(staff, world, action, content, says):
    answer = staff.post(f"{PAGE}{action}/?ns=harbour", {"file": SimpleUploadedFile("a.bin", content)})

    assert answer.status_code == 200
    assert says in answer.content.decode()
    assert not MemoryImport.objects.across_namespaces().exists()


def test_a_file_is_followed_to_its_report(staff, world):
    answer = staff.post(f"{PAGE}create/?ns=harbour", {"file": export(), "speaker": "Ada"})
    row = MemoryImport.objects.in_scope(world.harbour).get()
    assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}{row.id}/?ns=harbour")
    waiting = text(staff, answer["Location"])
    assert "data-live" in waiting
    assert "Cancel the import" in waiting

    finish(row)
    progress = text(staff, f"{PAGE}{row.id}/progress/")
    assert "3 of 3 turns processed" in progress
    report = text(staff, f"{PAGE}{row.id}/")
    assert "data-live" not in report
    assert "Cancel the import" not in report
    assert row.actor.startswith("staff:")


def test_lines_are_pasted_and_what_is_wrong_is_named(staff, world):
    staff.post(f"{PAGE}create/?ns=harbour", {"text": LINES.decode()})
    row = MemoryImport.objects.in_scope(world.harbour).get()
    finish(row)

    report = text(staff, f"{PAGE}{row.id}/")
    assert "1 entry cannot be read" in report
    assert "line 2" in report


def test_an_import_is_cancelled(staff, followed):
    assert staff.post(f"{PAGE}{followed.id}/cancel/").status_code == 302

    assert "Cancelled" in text(staff, f"{PAGE}{followed.id}/")
    assert not ImportPart.objects.filter(namespace_id=followed.namespace_id).exists()
    staff.post(f"{PAGE}{followed.id}/cancel/")
    assert "nothing to cancel" in text(staff, f"{PAGE}{followed.id}/")


@pytest.mark.parametrize("action", ["preview", "create"])
def test_nothing_chosen(staff, world, action):
    assert "Choose a file, or paste lines." in staff.post(f"{PAGE}{action}/?ns=harbour", {"text": " "}).content.decode()


def test_an_import_says_what_was_guessed(staff, world):
    row = start("harbour", "[2026-05-08] - 港口早上六点开放。\n".encode("gbk"))
    finish(row)

    assert "it was read as gb18030, which was guessed" in text(staff, f"{PAGE}{row.id}/")
    chinese = staff.get(f"{PAGE}{row.id}/", headers={"Accept-Language": "zh-CN"}).content.decode()
    assert "按 gb18030 读取，这是猜测的结果" in chinese
