"""Unmodified clients of OpenAI's API against a MemOS server with a real small model: the guide's programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.models import Memory
from memory.stores import redis as redis_store
from tests.docs.pages import DOCS, ROOT, blocks
from tests.providers.upstream import serving_upstream, streamed, whole

CLIENTS = ROOT / ".venv-clients" / "bin" / "python"
# The programs of each page by the package that they use, with the command that runs them.
PYTHON = {
    "openai-clients": {"openai": Path(sys.executable), "langchain_openai": CLIENTS, "agents": CLIENTS},
    "responses-and-messages": {"openai": CLIENTS, "agents": CLIENTS, "anthropic": CLIENTS},
}
PROGRAMS = {
    (page, re.search(r"from (\w+)", block.text.replace("from openai import AsyncOpenAI", ""))[1]): block.text  # type: ignore[index]
    for page in PYTHON
    for block in blocks((DOCS / "guides" / f"{page}.md").read_text("utf-8"))
    if block.language == "python"
}
SECONDS = 500

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["scripted", "real"])
def model_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the URL of a model: a fake one with constant answers, or a real one."""
    if request.param == "real":
        yield request.getfixturevalue("llama").url
        return
    with serving_upstream(whole("")) as upstream:
        upstream.answer = lambda body: streamed("It is ", "Luna.") if body.get("stream") else whole("It is Luna.")
        yield upstream.url


@pytest.fixture
def run(live_server: Any, alice: Any, model_url: str, settings: Any) -> Callable[[str, str], str]:
    """Run a program of a guide and return its output."""
    settings.MEMOS_LLM_ENABLED = True
    settings.MEMOS_LLM_PROVIDER = "llamacpp"
    settings.MEMOS_LLM_BASE_URL = model_url
    settings.MEMOS_LLM_MODEL = "smollm2"
    settings.MEMOS_LLM_TIMEOUT_SECONDS = SECONDS

    def run_(page: str, name: str) -> str:
        python = PYTHON[page][name]
        if not python.exists():
            pytest.skip(f"{name} is not installed: make install-clients")
        program = PROGRAMS[page, name].replace("http://127.0.0.1:8000", live_server.url)
        environment = {"PATH": os.environ["PATH"], "MEMOS_API_KEY": alice.token, "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(
            [str(python), "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_


def turns(tenant: Any) -> list[tuple[str, str]]:
    """Return the session and role of every turn."""
    return list(Memory.objects.in_scope(tenant.scope).order_by("turn").values_list("session", "role"))


def check_turns(request: pytest.FixtureRequest, tenant: Any, session: str, *, pairs: int) -> None:
    """Check that both sides of each exchange are remembered.

    A real model's answer may be cut off at its token limit, and then is not remembered. In that case only the questions
    are checked.
    """
    told = turns(tenant)
    if "real" in request.node.name:
        assert [one for one in told if one[1] == "user"] == [(session, "user")] * pairs
        assert {name for name, _ in told} == {session}
    else:
        assert told == [(session, "user"), (session, "agent")] * pairs


def test_the_guide_has_a_program_for_each():
    assert set(PROGRAMS) == {(page, name) for page, names in PYTHON.items() for name in names}


def test_openai(request, run, alice):
    printed = run("openai-clients", "openai")

    said = Memory.objects.in_scope(alice.scope).get(text="My cat is called Luna.")
    # Both turns came from the window: `memory_ids` lists them.
    assert printed.splitlines()[-1].startswith(f"from: ['{said.pk}'")
    assert printed.endswith("in: user:ann\n")
    check_turns(request, alice, "user:ann", pairs=2)


@pytest.mark.parametrize(("name", "pairs"), [("langchain_openai", 2), ("agents", 1)])
def test_packages_that_build_on_it(request, run, alice, name, pairs):
    assert run("openai-clients", name).strip()
    check_turns(request, alice, "cats", pairs=pairs)


def test_responses(request, run, alice):
    printed = run("responses-and-messages", "openai")

    # The conversation continues in the session of the response, whose turns the model gets as messages.
    assert "in: user:ann\ndimensions: " in printed
    check_turns(request, alice, "user:ann", pairs=2)
    # The second of the two responses is deleted.
    [key] = redis_store.call(lambda client: list(client.scan_iter("memos:responses:*")))
    kept = redis_store.call(lambda client: [name for name in client.hkeys(key) if len(name) > 32])
    assert len(kept) == 1


@pytest.mark.parametrize(("name", "session", "pairs"), [("agents", "cats", 1), ("anthropic", "user:ann", 2)])
def test_packages_that_speak_responses_and_messages(request, run, alice, name, session, pairs):
    printed = run("responses-and-messages", name)
    assert printed.endswith("models: ['llamacpp/smollm2']\n" if name == "anthropic" else "\n")
    check_turns(request, alice, session, pairs=pairs)
