"""Restoring an older backup restores neither an erased user nor a revoked share."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from memory import ledger
from memory.models import CubeShare, User
from memory.services.backup.replay import replay
from memory.services.cubes import create, share
from memory.services.erasure.users import erase_user
from memory.services.tenancy import users
from memory.types import ChangeTerms, system_access

EVERYTHING = system_access("tests")


def rows_of(*models: Any) -> list[Any]:
    return [row for model in models for row in model.objects.across_namespaces()]


def test_what_was_ended_since_the_backup_stays_ended(alice, bob, settings, tmp_path: Path):
    settings.MEMOS_ERASURE_LEDGER = str(tmp_path / "erasures.ledger")
    before = timezone.now()
    cube = create.register_cube(EVERYTHING, namespace="alice", name="Alice's", now=before)
    ann = users.create_user(EVERYTHING, namespace="bob", name="ann", now=before)
    ben = users.create_user(EVERYTHING, namespace="bob", name="ben", now=before)
    for user in (ann, ben):
        share.share_cube(EVERYTHING, cube_id=cube.pk, user_id=user.pk, level="read", now=before)
    backup = rows_of(User, CubeShare)
    now = before + timedelta(minutes=1)
    erase_user(EVERYTHING, user_id=ann.pk, reason="asked", confirm="ann", terms=ChangeTerms(), now=now)
    share.revoke_share(EVERYTHING, cube_id=cube.pk, user_id=ben.pk, now=now)

    known = ledger.read(tmp_path / "erasures.ledger")
    assert known.users == {(ann.namespace_id, ann.pk)}
    assert known.shares == {(cube.namespace_id, ben.pk): now}
    for row in backup:
        type(row).objects.bulk_create([row], ignore_conflicts=True)
    known.erasures.clear()
    replay(ledger.merge(ledger.read_database(), known), actor="tests", now=timezone.now)

    assert rows_of(User, CubeShare) == [ben]
    again = share.share_cube(EVERYTHING, cube_id=cube.pk, user_id=ben.pk, level="read", now=now + timedelta(minutes=1))
    known.users.clear()
    replay(known, actor="tests", now=timezone.now)
    assert rows_of(CubeShare) == [again]
