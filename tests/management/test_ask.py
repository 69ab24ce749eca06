from __future__ import annotations

from io import StringIO

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.demo.seed import seed_demo_namespace
from memory.management.commands.ask import _columns, _wrap
from memory.models import EmbeddingModel, Namespace
from memory.services.ingestion.ingest import ingest
from memory.types import NewMemory, Scope, system_access


@pytest.fixture
def demo(db: None) -> None:
    seed_demo_namespace(system_access("tests"), namespace="demo", now=timezone.now())


def asked(*arguments: str) -> str:
    out = StringIO()
    call_command("ask", *arguments, stdout=out)
    return out.getvalue()


def row_counts() -> dict[str, int]:
    return {model._meta.label: model._base_manager.count() for model in apps.get_models()}


def test_it_shows_what_is_found_and_why_and_stores_nothing(demo: None) -> None:
    before = row_counts()
    out = asked("demo", "Why PostgreSQL and not MongoDB for the event store?", "--top-k", "3")
    assert row_counts() == before
    heads = [line for line in out.splitlines() if "(#" in line]
    assert len(heads) == 3
    assert heads[0].split()[0] == "1"
    assert "Jonas" in heads[0]
    assert "release-" in heads[0]
    assert "meaning ." in heads[0]
    assert "+ words " in heads[0]
    assert "#None" not in out
    assert "instead of MongoDB" in out
    assert " ms (" in out.splitlines()[-1]
    assert "\x1b[" not in out


def test_it_says_when_nothing_fits(demo: None) -> None:
    told = "Nothing in memory answers this. What is nearest:"
    assert asked("demo", "What is the capital of Mongolia?").splitlines()[0] == told
    assert told not in asked("demo", "Why PostgreSQL and not MongoDB for the event store?")


def test_a_session_narrows_it(demo: None) -> None:
    heads = [
        line for line in asked("demo", "支付网关 限流", "--session", "payments-retro").splitlines() if "(#" in line
    ]
    assert heads
    assert all(line.endswith("payments-retro") for line in heads)


def test_a_session_is_searched_whole_however_many_others_are_nearer(db: None) -> None:
    scope = Scope(Namespace.objects.create(name="n").pk, "n", "key:test")
    for number in range(130):
        text, session = (f"kiln and harbour {number}", "wanted") if number < 5 else ("kiln", "other")
        ingest(scope, memory=NewMemory(session=session, role="user", text=text), now=timezone.now())
    heads = [line for line in asked("n", "kiln", "--session", "wanted").splitlines() if "(#" in line]
    assert len(heads) == 5


def test_an_unknown_namespace_is_not_made_and_the_known_ones_are_listed(demo: None) -> None:
    with pytest.raises(CommandError, match=r"no namespace 'dmeo'\. There are: demo"):
        asked("dmeo", "anything")
    assert list(Namespace.objects.values_list("name", flat=True)) == ["demo"]


def test_an_empty_server_stays_empty(db: None) -> None:
    with pytest.raises(CommandError, match=r"There is none yet: `manage\.py seed_demo`"):
        asked("demo", "anything")
    Namespace.objects.create(name="demo")
    with pytest.raises(CommandError, match="remember something first"):
        asked("demo", "anything")
    assert not EmbeddingModel.objects.exists()


def test_an_empty_question_is_refused(demo: None) -> None:
    with pytest.raises(CommandError, match="1 to 2000 characters"):
        asked("demo", " ")


def test_a_memory_cannot_steer_the_terminal(db: None) -> None:
    scope = Scope(Namespace.objects.create(name="n").pk, "n", "key:test")
    hostile = NewMemory(session="s\x1b[31m", role="user", speaker="\x1b]0;owned\x07", text="kiln \x1b[2J\x1b[H \x9b31m")
    ingest(scope, memory=hostile, now=timezone.now())
    out = asked("n", "kiln")
    assert "kiln" in out
    assert not {"\x1b", "\x07", "\x9b"} & set(out)


@pytest.mark.parametrize("width", [10, 24, 60])
def test_lines_fit_the_terminal_and_lose_nothing(width: int) -> None:
    text = "短句，混合 English words，以及一个 " + "very" * 20 + " long word。\nA second paragraph."
    lines = list(_wrap(text, width))
    assert max(map(_columns, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert not any(line.startswith(("，", "。")) for line in lines)
