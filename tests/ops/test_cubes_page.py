"""`/ops/cubes/` and `/ops/users/`: what staff see of cubes and their owners, and what they may change."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.utils import timezone
from django.utils.html import strip_tags

from memory.models import ApiKey, Cube, CubeShare, Erasure, Memory, User, UserErasure
from memory.services.cubes import create, share
from memory.services.preferences.read import read_session
from memory.services.tenancy import keys, users
from memory.services.tenancy.policy import put_policy
from memory.types import system_access
from tests.ops.conftest import NOW, World, scope_of, turns

EVERYTHING = system_access("tests")


@pytest.fixture
def ann(world: World) -> User:
    """Create a user of harbour, and one of bakery."""
    users.create_user(EVERYTHING, namespace="bakery", name="baker", now=timezone.now())
    return users.create_user(
        EVERYTHING, namespace="harbour", name="ann", display_name="Ann Lee", preferences={"tea": "oolong"},
        now=timezone.now(),
    )  # fmt: skip


@pytest.fixture
def cube(ann: User) -> Cube:
    """Register a cube of harbour that is Ann's and shared with the baker, and a cube of bakery."""
    create.register_cube(EVERYTHING, namespace="bakery", name="The bakery's", now=timezone.now())
    row = create.register_cube(
        EVERYTHING, namespace="harbour", name="The port's <i>log</i>", owner_id=ann.pk, now=timezone.now()
    )
    baker = User.objects.across_namespaces().get(name="baker")
    share.share_cube(EVERYTHING, cube_id=row.pk, user_id=baker.pk, level="read", now=timezone.now())
    return row


def text(client: Any, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_out_of_reach_nothing_is_there(grant_console, ann, cube):
    clerk = grant_console("bakery", permissions=("memory.change_cube", "memory.change_user", "memory.delete_user"))

    for page, one, do in (("cubes", cube.pk, "unregister"), ("users", ann.pk, "erase")):
        assert clerk.get(f"/ops/{page}/{one}/").status_code == 404
        assert clerk.post(f"/ops/{page}/{one}/change/", {"do": do}).status_code == 404
        assert clerk.get(f"/ops/{page}/?ns=harbour").status_code == 404
    assert clerk.post(f"/ops/users/{ann.pk}/erasure/").status_code == 404
    assert clerk.get(f"/ops/cubes/{cube.pk}/files/live/").status_code == 404
    shown = text(clerk, "/ops/cubes/") + text(clerk, "/ops/users/")
    assert "The bakery&#x27;s" in shown
    assert "baker" in shown
    assert "The port" not in shown
    assert ">ann<" not in shown
    assert clerk.post("/ops/users/create/?ns=harbour", {"name": "mole"}).status_code == 404
    assert clerk.post("/ops/cubes/register/?ns=harbour", {"name": "mole"}).status_code == 404


def test_without_the_permission_nothing_is_changed(grant_console, ann, cube):
    clerk = grant_console("harbour")

    for address in (f"/ops/cubes/{cube.pk}/change/", f"/ops/users/{ann.pk}/change/", "/ops/users/create/?ns=harbour",
                    "/ops/cubes/register/?ns=harbour"):  # fmt: skip
        assert clerk.post(address, {"do": "erase"}).status_code == 403
    assert 'name="do"' not in text(clerk, f"/ops/cubes/{cube.pk}/") + text(clerk, f"/ops/users/{ann.pk}/")
    changer = grant_console("harbour", permissions=("memory.change_user",))
    assert changer.post(f"/ops/users/{ann.pk}/erasure/").status_code == 403
    for do in ("erase", "key"):
        assert changer.post(f"/ops/users/{ann.pk}/change/", {"do": do, "reason": "x"}).status_code == 403
    assert User.objects.across_namespaces().count() == 2


def test_what_is_typed_of_a_user_is_for_who_may_read_texts(staff, grant_console, ann, cube):
    clerk = grant_console("harbour")
    for address in (f"/ops/users/{ann.pk}/", "/ops/users/"):
        shown = text(clerk, address)
        assert "Ann Lee" not in shown
        assert "oolong" not in shown
    assert "oolong" in text(staff, f"/ops/users/{ann.pk}/")
    # The clerk cannot reach the baker, and so sees an id without a name.
    shown = text(clerk, f"/ops/cubes/{cube.pk}/")
    assert "The port&#x27;s &lt;i&gt;log&lt;/i&gt;" in shown
    assert "baker" not in shown


def test_a_cube_is_registered_shared_revoked_and_unregistered(staff, world):
    staff.post("/ops/users/create/?ns=bakery", {"name": "baker"})
    baker = User.objects.across_namespaces().get()
    wrong = staff.post("/ops/cubes/register/?ns=harbour", {"name": "Port", "owner": "nobody"}).content.decode()
    assert 'id="wrong-owner">There is no user “nobody”' in wrong
    assert 'value="Port"' in wrong
    staff.post("/ops/cubes/register/?ns=harbour", {"name": "Port", "owner": str(baker.pk)})
    row = Cube.objects.across_namespaces().get()

    def press(do: str, **more: str) -> str:
        return staff.post(f"/ops/cubes/{row.pk}/change/", {"do": do, **more}, follow=True).content.decode()

    assert 'id="wrong-user">There is no user' in press("share", user=str(uuid.uuid4()), level="read")
    assert 'id="wrong-days">Days are a whole number' in press("share", user=str(baker.pk), level="read", days="-1")
    staff.post("/ops/users/create/?ns=harbour", {"name": "baker"})
    assert "Several users are called" in press("share", user="baker", level="read")
    User.objects.across_namespaces().exclude(pk=baker.pk).delete()
    press("share", user="baker", level="write", days="7")
    (shared,) = CubeShare.objects.across_namespaces()
    assert (shared.level, shared.created_by[:6], shared.expires_at is not None) == ("write", "staff:", True)
    press("revoke", user=str(baker.pk))
    assert not CubeShare.objects.across_namespaces().exists()
    press("unregister")
    assert not Cube.objects.across_namespaces().exists()
    assert world.ids


def test_a_cube_leads_to_what_governs_it_and_its_size_breaks_before_the_unit(staff, cube):
    shown = text(staff, f"/ops/cubes/{cube.pk}/?ns=harbour")

    assert 'href="/ops/policies/?ns=harbour"' in shown
    assert re.search(r"tile-value\W+\d+(\.\d+)? (bytes|KB)<", shown)


def test_a_cube_is_changed_and_its_owner_stays_whoever_sees_them(staff, grant_console, cube):
    baker = User.objects.across_namespaces().get(name="baker")
    address = f"/ops/cubes/{cube.pk}/change/"
    as_seen = {"do": "change", "name": cube.name, "owner": "ann", "revision": "1"}

    def press(client: Any = staff, **body: str) -> str:
        return str(client.post(address, {**as_seen, **body}, follow=True).content.decode())

    assert 'id="wrong-name">A cube' in press(name=" ")
    assert 'id="wrong-owner">There is no user “nobody”' in press(owner="nobody")
    assert "There is no kind of memory" in press(kinds="dreams")
    assert "open the page again" in press(revision="")
    press(owner="baker", kinds="activation", description="Watches")
    cube.refresh_from_db()
    assert (cube.owner_id, cube.kinds, cube.description, cube.revision) == (
        baker.pk, ["textual", "activation"], "Watches", 2,
    )  # fmt: skip
    assert "Somebody changed the cube meanwhile" in press(owner="")

    # The baker belongs to another namespace: this clerk sees an id, and leaves it unchanged.
    clerk = grant_console("harbour", permissions=("memory.change_cube",))
    assert f'name="owner" maxlength="128" list="users" autocomplete="off" value="{baker.pk}"' in text(
        clerk, f"/ops/cubes/{cube.pk}/"
    )
    press(clerk, name="The log", owner=str(baker.pk), revision="2")
    cube.refresh_from_db()
    assert (cube.name, cube.owner_id, cube.kinds) == ("The log", baker.pk, ["textual"])
    press(owner="", name="The log", revision="3")
    cube.refresh_from_db()
    assert cube.owner_id is None


def test_a_key_is_given_to_a_user_who_is_then_erased(staff, ann):
    key, _token = keys.issue_key(
        name="Ann's phone", scopes=["read"], namespaces=[ann.namespace], actor="tests", now=timezone.now()
    )
    press = lambda **body: staff.post(f"/ops/users/{ann.pk}/change/", body, follow=True).content.decode()  # noqa: E731

    assert "no key" in press(do="key", key="mos_00000000")
    assert "Ann&#x27;s phone" in press(do="key", key=f"mos_{key.prefix}_…")
    assert ApiKey.objects.get(pk=key.pk).owner_id == ann.pk
    assert 'id="wrong-confirm">Nothing was erased' in press(do="erase", reason="asked", confirm="Ann")
    preview = staff.post(f"/ops/users/{ann.pk}/erasure/").content.decode()
    assert "1 API key is revoked" in preview
    assert "0 memories of harbour" in preview
    assert User.objects.across_namespaces().filter(pk=ann.pk).exists()
    assert "An erased user" in press(do="erase", reason="asked", confirm="ann")
    receipt = text(staff, f"/ops/users/{ann.pk}/receipt/")
    assert "Queued" in receipt
    erasure = Erasure.objects.across_namespaces().first()
    assert f"/ops/erasures/{erasure.id}/" in receipt
    assert "What one person said" in text(staff, f"/ops/erasures/{erasure.id}/")
    assert not User.objects.across_namespaces().filter(pk=ann.pk).exists()
    assert UserErasure.objects.across_namespaces().get().keys_revoked == 1
    assert "asked" in text(staff, f"/ops/users/{ann.pk}/")
    assert scope_of("harbour")


def test_a_preference_says_whether_it_is_stated_or_shown_by_choices(staff, grant_console, world, ann):
    put_policy(world.harbour, wanted={"preferences": "rules"}, now=NOW)
    for session, said in enumerate(("Make it an aisle seat.", "I chose the aisle seat.", "I'll take the aisle seat.")):
        turns(world.harbour, f"trip {session}", said)
    turns(world.harbour, "talk", "I love nuts.")
    for session in ("trip 0", "trip 1", "trip 2", "talk"):
        read_session(world.harbour, session=session, now=timezone.now())
    users.create_user(EVERYTHING, namespace="harbour", name="Ann", now=timezone.now())
    who = User.objects.across_namespaces().get(name="Ann")
    rows = re.findall(r'<th scope="row">.*?</tr>', text(staff, f"/ops/users/{who.pk}/").split('id="profile"')[1])
    shown = {cells[0]: cells[2] for cells in ([strip_tags(one) for one in re.split("</t[hd]>", row)] for row in rows)}
    assert shown == {"I love nuts": "Stated", "Usually chooses aisle seat.": "Shown by choices"}

    blind = grant_console("harbour", permissions=("memory.view_memory",))
    for memory in Memory.objects.in_scope(world.harbour).preferences():
        by_choices = memory.text.startswith("Usually")
        for reader in (staff, blind):
            page = text(reader, f"/admin/memory/memory/{memory.pk}/change/")
            assert ("Habit · Shown by choices" if by_choices else "Likes · Stated") in page
    assert "Stated" not in text(staff, f"/admin/memory/memory/{world.ids[0]}/change/")
