"""Retired statements: on the Overview, on their page, and reinstated with one click."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from memory.enums import AuditEvent, LinkKind, PairVerdict
from memory.models import AuditLog, Memory, MemoryLink, RetiredStatement, UnsurePair
from memory.services.ingestion.ingest import ingest
from memory.services.memories import settle, supersede
from memory.services.memories.retire import JUDGED
from memory.types import NewMemory, system_access
from ops.bulk import ask_to_undo, start
from ops.models import BulkVerb
from tests.ops.conftest import World, scope_of

MARCH, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 5))
PAGE, HOLD, AGAIN = "/ops/retired/", "/ops/retired/hold/", "/ops/retired/again/"
OLD, WHOLE = "I love chess problems. My <b>oboe</b> is mended at last.", "I love rye bread."
NEW = "I've lost interest in chess problems. I've lost interest in rye bread. The harbour was cold today."


def tell(namespace: str, text: str, *, at: datetime, session: str = "talk") -> uuid.UUID:
    memory = NewMemory(session=session, role="user", text=text, speaker="Ann", occurred_at=at)
    return ingest(scope_of(namespace), memory=memory, now=timezone.now()).memory_ids[0]


@pytest.fixture
def corrected(world: World) -> tuple[uuid.UUID, uuid.UUID, uuid.UUID]:
    """Create in harbour a memory with a retired part, a superseded one, and their cause; and a pair in bakery."""
    ids = tell("harbour", OLD, at=MARCH), tell("harbour", WHOLE, at=MARCH), tell("harbour", NEW, at=MAY)
    tell("bakery", "I love marzipan pigs. The oven is new.", at=MARCH)
    tell("bakery", "I've lost interest in marzipan pigs. It rained.", at=MAY)
    settle.settle_pending(now=timezone.now())
    assert Memory.objects.across_namespaces().get(pk=ids[0]).retired_spans == [0, 22]
    assert Memory.objects.across_namespaces().get(pk=ids[1]).superseded_by == ids[2]
    return ids


def post(client, path: str, **fields: str) -> str:
    """Return the page to which an action redirects."""
    answer = client.post(path, fields)
    assert answer.status_code == 303
    return client.get(answer["Location"]).content.decode()


def page(client, **query: str) -> str:
    answer = client.get(PAGE, query)
    assert answer.status_code == 200
    return answer.content.decode()


class TestRefusals:
    def test_who_may_not_look_is_shown_nothing(self, client, corrected, grant_console):
        assert client.get(PAGE).status_code == 302
        assert "chess" not in page(grant_console())
        assert "chess" not in page(grant_console("bakery", permissions=("ops.view_memory_text",)))
        assert grant_console("harbour").get(PAGE, {"ns": "bakery"}).status_code == 404
        assert grant_console("harbour").get(PAGE, {"cursor": "x"}).status_code == 404

    def test_who_may_not_change_memories_decides_nothing(self, corrected, grant_console):
        clerk = grant_console("harbour", permissions=("ops.view_memory_text",))
        assert "Both hold" not in page(clerk)
        assert "Both hold" not in clerk.get("/ops/").content.decode()
        for path in (HOLD, AGAIN):
            assert clerk.post(path, {"pair": f"{corrected[0]}~0"}).status_code == 403
            assert clerk.get(path).status_code == 405
        assert Memory.objects.across_namespaces().get(pk=corrected[0]).retired_spans == [0, 22]

    def test_another_namespace_is_out_of_reach(self, corrected, grant_console):
        clerk = grant_console("bakery", permissions=("memory.change_memory",))
        assert "There is no memory" in post(clerk, HOLD, pair=f"{corrected[0]}~0")
        assert Memory.objects.across_namespaces().get(pk=corrected[0]).retired_spans == [0, 22]

    @pytest.mark.parametrize(
        "pair",
        ["", "x", "x~1", "6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11~-1", "6f1c1a52-7d1e-4b9a-9a53-0c8f8f6f2b11~9999999"],
    )
    def test_a_damaged_form_changes_nothing(self, staff, corrected, pair):
        assert "The form was damaged" in post(staff, HOLD, pair=pair)
        assert "The form was damaged" in post(staff, AGAIN, pair=pair)

    def test_texts_are_masked_without_the_permission_to_read_them(self, corrected, grant_console):
        clerk = grant_console("harbour", permissions=("memory.change_memory", "memory.view_memory"))
        for path in (PAGE, "/ops/"):
            shown = clerk.get(path).content.decode()
            assert "•••" in shown
            assert "The newer statement says that it is over." in shown
            assert not {"chess", "rye", "oboe"} & set(re.findall(r"\w+", shown))

    def test_what_a_model_said_of_texts_is_masked_with_them(self, staff, corrected, grant_console):
        older, whole, newer = corrected
        RetiredStatement.objects.across_namespaces().filter(memory_id=older).update(reason=JUDGED)
        MemoryLink.objects.across_namespaces().filter(other_id=whole).update(reason=JUDGED)
        for memory_id in (older, whole):
            UnsurePair.objects.create(
                namespace=Memory.objects.across_namespaces().get(pk=older).namespace,
                older_id=memory_id, newer_id=newer, start=0, end=22,
                by_start=0, by_end=9, can_cut=True, reason="", confidence=0.6, texts_hash=b"", due_at=timezone.now(),
                verdict=PairVerdict.REPLACES, explanation="Chess bores <b>her</b> now.",
            )  # fmt: skip
        clerk = grant_console("harbour", permissions=("memory.change_memory", "memory.view_memory"))
        pages = [PAGE, "/ops/", *(f"/admin/memory/memory/{one}/change/" for one in (older, whole))]
        for path in pages:
            shown = clerk.get(path).content.decode()
            assert "bores" not in shown, path
            assert "bores &lt;b&gt;her" in staff.get(path).content.decode(), path
        assert "A language model judged that a newer memory takes its place." in page(clerk)


class TestShown:
    def test_the_page_lists_pairs_with_words_and_reason_newest_first(self, staff, corrected):
        shown = page(staff, ns="harbour")
        for words in ("I love chess problems.", "I&#x27;ve lost interest in chess problems.", "I love rye bread."):
            assert words in shown
        assert "The newer statement says that it is over." in shown
        assert "marzipan" not in shown
        assert "marzipan" in page(staff)
        assert shown.count('name="pair"') == 2, "what the newer one announced is no pair of its own"

    def test_old_ones_are_shown_when_all_are_asked_for(self, staff, corrected):
        long_ago = timezone.now() - timedelta(days=9)
        RetiredStatement.objects.across_namespaces().update(retired_at=long_ago)
        Memory.objects.across_namespaces().exclude(superseded_by=None).update(superseded_at=long_ago)
        assert "Nothing was retired lately" in page(staff)
        assert "I love chess problems." in page(staff, all="1")
        assert "corrections were carried out" not in staff.get("/ops/").content.decode()

    def test_a_supersession_by_a_person_is_no_correction_of_the_machine(self, staff, world):
        older, newer = world.ids[0], world.ids[1]
        supersede.supersede(system_access("staff:x"), older_id=older, newer_id=newer, reason="said", now=timezone.now())
        assert "Nothing is retired" in page(staff, all="1")

    def test_pages_follow_each_other(self, staff, corrected, monkeypatch):
        monkeypatch.setattr("ops.pages.retired.PAGE", 1)
        first = page(staff, ns="harbour")
        [following] = re.findall(r'href="([^"]*)" rel="next"', first)
        second = staff.get(PAGE + following.replace("&amp;", "&").removeprefix(PAGE)).content.decode()
        assert ("rye" in first) != ("rye" in second)

    def test_the_overview_names_them_under_what_needs_attention(self, staff, corrected, clear_shared):
        shown = staff.get("/ops/", {"ns": "harbour"}).content.decode()
        assert "2 corrections were carried out in the last 7 days" in shown
        assert "I love chess problems." in shown
        assert 'form="both-hold"' in shown
        assert shown.index('id="attention"') < shown.index("I love chess problems.") < shown.index('id="numbers"')
        assert f"{PAGE}?ns=harbour" in shown
        live = staff.get(reverse("ops:overview_live"), {"ns": "harbour"}).content.decode()
        assert "csrfmiddlewaretoken" not in live, "the board is shared"

    def test_sessions_and_entities_strike_the_words_out(self, staff, corrected):
        shown = staff.get("/ops/sessions/one/", {"ns": "harbour", "session": "talk"}).content.decode()
        assert "<del>I love chess problems.</del>" in shown
        assert "1 part retired" in shown
        assert "<b>oboe</b>" not in shown
        listed = staff.get("/admin/memory/memory/", {"namespace": "harbour"}).content.decode()
        assert "1 part retired" in listed


class TestBothHold:
    def test_a_part_holds_again_for_good_and_it_can_be_undone(self, staff, corrected):
        old, _, _new = corrected
        answer = staff.post(HOLD, {"pair": f"{old}~0", "next": "/ops/?ns=harbour"})
        assert (answer.status_code, answer["Location"]) == (303, "/ops/?ns=harbour")
        assert Memory.objects.across_namespaces().get(pk=old).retired_spans == []
        event = (
            AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_REINSTATE, subject=str(old)).get()
        )
        assert event.actor == "staff:ann"
        assert (event.details["before"]["retired_statements"], event.details["after"]["retired_statements"]) == (1, 0)

        shown = staff.get("/ops/").content.decode()
        assert "Both hold: search finds it again." in shown
        [form] = re.findall(r'<form class="undo".*?</form>', shown, re.DOTALL)
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
        assert fields["pair"] == f"{old}~0"
        assert "Undone: it is out of search again." in post(staff, AGAIN, **fields)
        assert Memory.objects.across_namespaces().get(pk=old).retired_spans == [0, 22]

    def test_a_whole_memory_holds_again_and_it_can_be_undone(self, staff, corrected):
        _, whole, new = corrected
        staff.post(HOLD, {"pair": str(whole)})
        assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is None
        assert (
            MemoryLink.objects.across_namespaces()
            .filter(kind=LinkKind.BOTH_HOLD, other_id=whole, memory_id=new)
            .exists()
        )
        assert "Both held already." in post(staff, HOLD, pair=str(whole))

        staff.post(AGAIN, {"pair": str(whole), "by": str(new)})
        assert Memory.objects.across_namespaces().get(pk=whole).superseded_by == new
        assert not MemoryLink.objects.across_namespaces().filter(kind=LinkKind.BOTH_HOLD).exists()


class TestMemoryPage:
    def url(self, identity: uuid.UUID) -> str:
        return f"/admin/memory/memory/{identity}/"

    def test_it_says_on_top_what_holds_no_longer(self, staff, corrected):
        old, whole, new = corrected
        shown = staff.get(self.url(old) + "change/").content.decode()
        assert shown.index("What holds no longer") < shown.index('id="memory_form"')
        assert "<del>I love chess problems.</del> My &lt;b&gt;oboe&lt;/b&gt; is mended" in shown
        assert self.url(new) in shown
        assert "Let it hold again" in shown
        assert "All of it" in staff.get(self.url(whole) + "change/").content.decode()
        assert (
            "What holds no longer"
            not in staff.get(self.url(new) + "change/").content.decode().split('id="memory_form"')[1]
        )

    def test_a_single_part_holds_again(self, staff, corrected):
        old, _, _ = corrected
        answer = staff.post(self.url(old) + "hold/", {"start": "0"}, follow=True)
        assert "It holds again: search finds it." in answer.content.decode()
        assert Memory.objects.across_namespaces().get(pk=old).retired_spans == []

    def test_all_of_it_holds_again(self, staff, corrected):
        staff.post(self.url(corrected[1]) + "hold/")
        assert Memory.objects.across_namespaces().get(pk=corrected[1]).superseded_by is None

    def test_who_may_only_look_has_no_button(self, corrected, grant_console):
        clerk = grant_console("harbour", permissions=("memory.view_memory",))
        shown = clerk.get(self.url(corrected[0]) + "change/").content.decode()
        assert "What holds no longer" in shown
        assert "hold again" not in shown
        assert clerk.post(self.url(corrected[0]) + "hold/").status_code == 403
        assert clerk.get(self.url(corrected[0]) + "hold/").status_code == 405
        stranger = grant_console("bakery", permissions=("memory.change_memory", "memory.view_memory"))
        assert stranger.post(self.url(corrected[0]) + "hold/").status_code == 404


def test_bulk_restore_brings_back_what_was_retired_superseded_and_archived_and_undoes_it(staff, corrected, world):
    old, whole, new = corrected
    user = User.objects.get(username="ann")
    by_hand = world.ids[0]
    access = system_access("staff:x")
    supersede.supersede(access, older_id=by_hand, newer_id=world.ids[1], reason="said", now=timezone.now())
    chosen = [old, whole, by_hand, world.ids[2]]
    start(user, verb=BulkVerb.ARCHIVE, memory_ids=[old], parameters={"reason": "away"}, now=timezone.now())

    action = start(user, verb=BulkVerb.RESTORE, memory_ids=chosen, parameters={"reason": "back"}, now=timezone.now())

    assert (action.changed_count, action.problems) == (2, {})
    memory = Memory.objects.across_namespaces().get(pk=old)
    assert (memory.state, memory.retired_spans) == ("active", [])
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is None
    assert Memory.objects.across_namespaces().get(pk=by_hand).superseded_by == world.ids[1], (
        "what a person decided stays"
    )

    ask_to_undo(action, user, now=timezone.now())
    memory = Memory.objects.across_namespaces().get(pk=old)
    assert (memory.state, memory.retired_spans) == ("archived", [0, 22])
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by == new
