"""Sends the requests on the pages in their order; the answers contain what the pages show."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from memory.demo.seed import seed_demo_namespace
from memory.models import Memory
from memory.types import Access
from tests.docs.pages import DOCS, ROOT, Block, blocks, name_of, pages
from tests.job_queue import work_off
from tests.parsers import made_files
from tests.services.cube_files.hostile import make as make_cube_file
from tests.services.imports.exports import archive, chatgpt

SERVER = "http://127.0.0.1:8000"
WITH_REQUESTS = [page for page in pages() if "curl -s " in page.read_text("utf-8")]
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The demo's memory whose id a page uses.
OF_THE_DEMO = {"01a1fea1-c108-713a-b31c-274a9e0ebe05": "Neukölln"}
# Fields that describe what happened, without names and scores, so that they are the same in every answer.
EXACT = {
    "accepted",
    "chunks",
    "characters",
    "code",
    "document_id",
    "field",
    "rule",
    "says",
    "schema",
    "verdict",
    "version",
}
# Results of a guide's question that are the same for any embedding model.
RECORD = (".records[0].content", ".records[0].title")
# Lines of a summary: rules extract them, so they are the same everywhere.
CARD = (".facts", ".preferences", ".constraints", ".decisions", ".risks", ".actions")
# Signals and parts of a score depend on the embedding model.
BY_MODEL = {"signals", "differences", "components"}


class Reader:
    """A reader that sends the requests of one page, with the ids of this world instead of the page's."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.ids: dict[str, str] = {}
        self.files: dict[str, Any] = {
            "export.zip": archive({"conversations.json": [chatgpt()]}),
            "handbook.pdf": made_files.pdf(4),
            "ada.memcube": make_cube_file(),
        }

    def read(self, page: Path) -> int:
        """Return the number of requests sent; fail if an answer is not as the page shows it."""
        sent, answer = 0, None
        for block in blocks(page.read_text("utf-8")):
            if block.language == "json":
                if (named := re.findall(r"`(\w+\.json)`", block.before)) and "_id" not in named[-1]:
                    self.files[named[-1]] = block.text
                elif answer is not None:
                    shown = documented(block)
                    self._compare(shown, part_of(answer.json(), shown), page)
                answer = None
            elif block.language == "sh":
                answer = None
                for words in commands(block):
                    answer = self._send(words, page)
                    sent += 1
                    if "sleep" in block.text:
                        work_off()
                if answer is not None:
                    expected = (200, 201, 202, 204, 409)
                    assert answer.status_code in expected, (name_of(page), block.text, answer.content)
        return sent

    def _send(self, words: list[str], page: Path) -> Any:
        method, path, body, headers = "", "", None, {}
        query: list[str] = []
        form: dict[str, Any] = {}
        given = iter(words[1:])
        for word in given:
            if word == "-X":
                method = next(given)
            elif word == "-H":
                name, _, value = next(given).partition(": ")
                headers[name] = value
            elif word == "-F":
                name, _, value = next(given).partition("=")
                form[name] = SimpleUploadedFile(value[1:], self.files[value[1:]]) if value[:1] == "@" else value
            elif word == "--data-urlencode":
                name, _, value = next(given).partition("=")
                query.append(f"{name}={quote(value)}")
            elif word == "-d" and "-G" in words:
                query.append(next(given))
            elif word == "-d":
                body = next(given)
            elif word.startswith(SERVER):
                path = word.removeprefix(SERVER)
        assert path.startswith("/"), words
        path += f"?{'&'.join(query)}" if query else ""
        if body and body.startswith("@"):
            body = self.files[body[1:]]
        for shown, real in self.ids.items():
            path, body = path.replace(shown, real), body and body.replace(shown, real)
        headers.pop("Authorization", None)
        if form:
            return self.client.post(path, form, headers=headers)
        kind = headers.pop("Content-Type", "application/json")
        send = getattr(self.client, (method or ("post" if body else "get")).lower())
        answer = send(path, data=body, content_type=kind, headers=headers) if body else send(path, headers=headers)
        if answer.streaming:
            # Reading the stream to its end releases its slot and connection.
            list(answer.streaming_content)
        return answer

    def _compare(self, shown: Any, real: Any, page: Path, at: str = "") -> None:
        where = f"{name_of(page)}: {at or 'the answer'}"
        if isinstance(shown, dict):
            assert isinstance(real, dict), where
            missing = set(shown) - set(real)
            assert not missing, f"{where} has no {missing}"
            for key, value in shown.items():
                if key not in BY_MODEL:
                    self._compare(value, real[key], page, f"{at}.{key}")
        elif isinstance(shown, list):
            assert isinstance(real, list), where
            assert len(real) >= len(shown), where
            for number, value in enumerate(shown):
                self._compare(value, real[number], page, f"{at}[{number}]")
        elif isinstance(shown, str) and _ID.fullmatch(shown) and isinstance(real, str):
            self.ids.setdefault(shown, real)
        elif (at.rpartition(".")[2] in EXACT or at.startswith(CARD) or at in RECORD) and not (
            name_of(page).startswith("docs/guides/why-not")
        ):
            assert shown == real, where
        elif isinstance(shown, bool):
            assert isinstance(real, bool), where
        elif isinstance(shown, int | float):
            assert isinstance(real, int | float) or real is None, where
        elif shown is not None:
            assert isinstance(real, type(shown)), where


def part_of(answer: Any, shown: Any) -> Any:
    """Return the part of an answer that the page shows: the whole, a summary, or a section of the manifest."""
    if "condensations" in answer:
        return json.loads(answer["condensations"][0]["condensed_text"])
    if "section" in shown:
        return next(one for one in answer["context_pack"]["manifest"]["sections"] if one["section"] == shown["section"])
    return answer


def commands(block: Block) -> Iterator[list[str]]:
    """Yield the words of each `curl` in a block, one command at a time."""
    text = block.text.replace("\\\n", " ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars="\n>")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, "#"
    words: list[str] = []
    for word in [*lexer, "\n"]:
        if set(word) <= {"\n", ">"}:
            if words[:1] == ["curl"]:
                yield words
            words = []
        else:
            words.append(word)


def documented(block: Block) -> Any:
    """Return the JSON of a block, without the parts that are elided by …"""
    text = re.sub(r"\{…\}", "{}", block.text)
    text = re.sub(r",\s*…(?=\s*[\]}])|…,\s*(?=[\[{])", "", text)
    return json.loads(text)


@pytest.fixture
def reader(make_tenant: Any) -> Reader:
    everyone = make_tenant("any", all_namespaces=True)
    access = Access(actor="tests", scopes=frozenset({"read", "write", "admin"}), all_namespaces=True)
    seed_demo_namespace(access, namespace="demo", now=timezone.now())
    found = Reader(everyone.client)
    for shown, name in OF_THE_DEMO.items():
        found.ids[shown] = str(
            Memory.objects.filter(namespace__name="demo", text__contains=name).latest("created_at").pk
        )
    return found


@pytest.mark.parametrize("written", WITH_REQUESTS, ids=name_of)
def test_what_the_page_shows_is_answered_so(reader: Reader, written: Path):
    if written.name not in ("README.md", "README.zh-CN.md"):
        reader.read(ROOT / "README.md")

    assert reader.read(written) > 0


@pytest.mark.parametrize("written", [DOCS / "guides" / "python.md"], ids=name_of)
def test_the_python_of_the_guides_runs(written: Path, live_server: Any, make_tenant: Any, monkeypatch):
    everyone = make_tenant("any", all_namespaces=True)
    monkeypatch.setenv("MEMOS_URL", live_server.url)
    monkeypatch.setenv("MEMOS_API_KEY", everyone.token)
    everyone.post(
        "/api/v1/memory/ingest",
        {"group_id": "team", "content": "We chose Go for the gateway in March, for its small images."},
    )
    program: dict[str, Any] = {}
    for page in (written, DOCS / "guides" / "existing-client.md", DOCS / "guides" / "answers.md"):
        found = blocks(page.read_text("utf-8"))
        for number, block in enumerate(found):
            # These programs need the client, which tests/sdk installs.
            if block.language != "python" or "memos_client" in block.text:
                continue
            out = io.StringIO()
            with redirect_stdout(out):
                exec(block.text, program)
            printed, shown = out.getvalue(), found[number + 1]
            if shown.language == "text":
                assert printed.splitlines()[0].split(" | ")[0] == shown.text.splitlines()[0].split(" | ")[0]
