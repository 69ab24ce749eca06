"""Files whose contents their signature does not cover, and files that are loaded again or elsewhere."""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import override_settings
from django.utils import timezone

from memory import ledger
from memory.enums import CubeIds, CubeSignature, ErasureTarget
from memory.models import Erasure, Memory, MemoryUpkeep, NamespacePolicy
from memory.services.cube_files import manifest as manifests
from memory.services.cube_files import memtensor
from memory.services.cube_files.archive import open_cube
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load_options import LoadOptions, check_sender, choose_ids
from memory.services.cube_files.local import LoadOutcome, load_from_file
from memory.services.erasure import requests, run
from memory.services.imports.source import UnreadableImport
from memory.types import Scope
from tests.services.cube_files.hostile import AT, make, memory_line, write, zipped

OURS, THEIRS, STRANGE = (Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"o", b"t", b"s"))
SHARED = "k" * 32
HELD = {"upkeep": {"uses": 1, "repeats": 0, "legal_hold": True, "stale": False, "importance": 0.5}}


def private(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.private_bytes_raw()).decode()


def public(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


@contextmanager
def signing(how: str, key: Any = None) -> Iterator[None]:
    """Sign with a secret by HMAC, or with a private key by Ed25519."""
    given = {"MEMOS_CUBE_KEY": key or SHARED} if how == "hmac" else {"MEMOS_CUBE_SIGNING_KEY": private(key or OURS)}
    with override_settings(**given):
        yield


def resign(content: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return the file with another `manifest.json`; `change` receives the manifest and its signature."""
    with zipfile.ZipFile(io.BytesIO(content)) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    sealed = orjson.loads(members["manifest.json"])
    change(sealed)
    return zipped({**members, "manifest.json": orjson.dumps(sealed)})


def load(scope: Scope, path: Path, **options: Any) -> LoadOutcome:
    wanted = LoadOptions(**options)
    return load_from_file(
        scope, path, options=wanted, dry_run=False, clock=timezone.now, report=lambda *_: None
    )  # fmt: skip


def refuse(scope: Scope, content: bytes, folder: Path, **options: Any) -> str:
    """Return the reason why the file is refused, and check that nothing of it is stored."""
    with pytest.raises(UnreadableImport) as refusal:
        load(scope, write(folder, content), **options)
    assert not Memory.objects.across_namespaces().exists()
    return refusal.value.message


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["hmac", "ed25519"])
@pytest.mark.parametrize(
    "changed",
    [
        {"namespace_id": 7},
        {"namespace": "another"},
        {"server": "0" * 16},
        {"written_at": "2026-03-02T12:00:00+00:00"},
        {"policy": 3},
        {"model": {"provider": "hash", "name": "hash", "dimensions": 384}},
        {"cube": {"name": "Another's"}},
        {"parts": {}},
    ],
)
def test_what_was_changed_after_it_was_signed_is_refused(alice, tmp_path, how, changed):
    with signing(how):
        content = resign(make(), lambda sealed: sealed["manifest"].update(changed))
        for options in ({}, {"unknown_sender": True}):
            assert "signature of the file does not hold" in refuse(alice.scope, content, tmp_path, **options)


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["hmac", "ed25519"])
def test_a_part_of_another_signed_file_is_no_part_of_this_one(alice, tmp_path, how):
    with signing(how):
        one, other = make(), make({"memories": [memory_line(text="I keep 2 bees behind the house in Porto.")]})
        with zipfile.ZipFile(io.BytesIO(one)) as whole, zipfile.ZipFile(io.BytesIO(other)) as source:
            exchanged = zipped(
                {"memories.jsonl": source.read("memories.jsonl"), "manifest.json": whole.read("manifest.json")}
            )
        # The size is the same, so that only the digest differs.
        assert "SHA-256" in refuse(alice.scope, exchanged, tmp_path)
        assert "SHA-256" in refuse(alice.scope, exchanged, tmp_path, unknown_sender=True)

        raw = orjson.dumps(memory_line(text="I keep 2 bees behind the house in Porto.")) + b"\n"
        said = {"lines": 1, "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        content = resign(exchanged, lambda sealed: sealed["manifest"]["parts"].update(memories=said))
        assert "signature of the file does not hold" in refuse(alice.scope, content, tmp_path)


@pytest.mark.django_db
def test_a_part_that_was_taken_away_or_added_is_missed(alice, tmp_path):
    parts = {"memories": [memory_line()], "sessions": []}
    with zipfile.ZipFile(io.BytesIO(make(parts))) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    without = {name: content for name, content in members.items() if name != "sessions.jsonl"}
    assert "lacks sessions.jsonl" in refuse(alice.scope, zipped(without), tmp_path)
    assert "it was added" in refuse(alice.scope, zipped({**members, "audit.jsonl": b""}), tmp_path)
    # Nor can it be turned into a file without a signature.
    folder = zipped({**members, memtensor.MEMORIES: orjson.dumps([{"id": "m", "memory": "I keep wasps."}])})
    assert "it was added" in refuse(alice.scope, folder, tmp_path)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("how", "key"), [("hmac", "x" * 32), ("ed25519", STRANGE)], ids=["another secret", "another key"]
)
def test_a_file_signed_with_another_key_is_of_an_unknown_sender(alice, tmp_path, how, key):
    with signing(how, key):
        content = make({"memories": [memory_line(1, **HELD)]}, manifest={"namespace_id": alice.scope.namespace_id})

    said = refuse(alice.scope, content, tmp_path)
    assert "signed by a key that this server does not know" in said
    assert "Ids cannot be kept" in refuse(alice.scope, content, tmp_path, unknown_sender=True, ids=CubeIds.KEEP)
    outcome = load(alice.scope, write(tmp_path, content), unknown_sender=True, holds=True)
    assert +outcome.counts["memories"] == {"new": 1}
    assert str(Memory.objects.in_scope(alice.scope).get().pk) != memory_line(1)["id"]
    assert not MemoryUpkeep.objects.in_scope(alice.scope).filter(legal_hold=True).exists()


def claim_secret(sealed: dict[str, Any]) -> None:
    """Sign with another secret, but name it as this server's."""
    said = orjson.dumps(sealed["manifest"], option=orjson.OPT_SORT_KEYS)
    sealed["signature"]["value"] = hmac.new(b"x" * 32, said, hashlib.sha256).hexdigest()


def claim_key(of: Ed25519PrivateKey) -> Callable[[dict[str, Any]], None]:
    """Sign as a stranger, but under the public key of someone else."""

    def change(sealed: dict[str, Any]) -> None:
        said = orjson.dumps(sealed["manifest"], option=orjson.OPT_SORT_KEYS)
        value = base64.b64encode(STRANGE.sign(said)).decode()
        sealed["signature"] = {"algorithm": manifests.ED25519, "key": public(of), "value": value}

    return change


@pytest.mark.django_db
@override_settings(MEMOS_CUBE_TRUSTED_KEYS=[public(THEIRS)])
@pytest.mark.parametrize(
    ("how", "change"), [("hmac", claim_secret), ("ed25519", claim_key(OURS)), ("ed25519", claim_key(THEIRS))]
)
def test_nobody_signs_under_the_name_of_another(alice, tmp_path, how, change):
    with signing(how):
        content = resign(make(), change)
        for options in ({}, {"unknown_sender": True}):
            assert "signature of the file does not hold" in refuse(alice.scope, content, tmp_path, **options)


def under_public_key(sealed: dict[str, Any]) -> None:
    """Sign by HMAC with a public value instead of by Ed25519."""
    said = orjson.dumps(sealed["manifest"], option=orjson.OPT_SORT_KEYS)
    key = sealed["signature"]["key"]
    value = hmac.new(base64.b64decode(key), said, hashlib.sha256).hexdigest()
    sealed["signature"] = {"algorithm": manifests.HMAC, "key": key, "value": value}


@pytest.mark.django_db
@override_settings(MEMOS_CUBE_TRUSTED_KEYS=[public(THEIRS)])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (under_public_key, "does not know"),
        (lambda sealed: sealed["signature"].update(algorithm=manifests.HMAC), "does not know"),
        (lambda sealed: sealed["signature"].update(algorithm="none"), "signed by 'none'; this server knows"),
        (lambda sealed: sealed["signature"].update(algorithm="ED25519"), "signed by 'ED25519'; this server knows"),
        (lambda sealed: sealed["signature"].update(algorithm="hmac-md5"), "signed by 'hmac-md5'; this server knows"),
        (lambda sealed: sealed["signature"].update(algorithm=""), "is not signed"),
        (lambda sealed: sealed["signature"].pop("algorithm"), "is not signed"),
        (lambda sealed: sealed.update(signature=None), "is not signed"),
        (lambda sealed: sealed.pop("signature"), "is not signed"),
        (lambda sealed: sealed["signature"].update(value=""), "does not hold"),
        (lambda sealed: sealed["signature"].update(value=None), "does not hold"),
        (lambda sealed: sealed["signature"].update(key="AAAA"), "does not hold"),
        (lambda sealed: sealed["signature"].update(key=["ed25519"]), "does not hold"),
        (lambda sealed: sealed.update(signature="ed25519"), "not the shape"),
        (lambda sealed: sealed.update(signature=[1]), "not the shape"),
    ],
)
def test_no_weaker_signature_takes_the_place_of_the_one_it_had(alice, tmp_path, change, says):
    with signing("ed25519", THEIRS):
        content = make()
    assert open_cube(write(tmp_path, content)).is_trusted

    assert says in refuse(alice.scope, resign(content, change), tmp_path)


def test_a_file_without_a_signature_has_to_be_asked_for(tmp_path):
    for how in ("hmac", "ed25519"):
        with signing(how):
            reader = open_cube(write(tmp_path, make(signed=False)))
            assert (reader.signature, reader.is_trusted) == (CubeSignature.NONE, False)
            with pytest.raises(UnreadableImport, match="is not signed"):
                check_sender(reader, LoadOptions())


@pytest.mark.django_db
@override_settings(MEMOS_CUBE_TRUSTED_KEYS=[public(THEIRS)])
def test_a_known_sender_is_not_taken_for_this_server(alice, bob, tmp_path):
    """A known sender may claim anything in a manifest, except that this server wrote it for a namespace here."""
    said = {"server": ledger.secret_mark(), "namespace_id": alice.scope.namespace_id, "namespace": "alice"}
    with signing("ed25519", THEIRS), override_settings(MEMOS_KEY_PEPPER="the pepper of another server"):
        content = make({"memories": [memory_line(1)]}, manifest=said)
    reader = open_cube(write(tmp_path, content))
    assert (reader.is_trusted, reader.is_of_this_server, reader.is_of(alice.scope)) == (True, False, False)

    # The load notices ids that another namespace has.
    own = make({"memories": [memory_line(1)]}, manifest={"server": "0" * 16})
    load(bob.scope, write(tmp_path, own), ids=CubeIds.KEEP)
    reader = open_cube(write(tmp_path, content))
    with pytest.raises(UnreadableImport, match="another namespace of this server has them"):
        choose_ids(alice.scope, reader, CubeIds.KEEP)
    assert choose_ids(alice.scope, reader, CubeIds.AUTO) == CubeIds.NEW
    # Nor do its lines reveal what was erased in a namespace that it names.
    Erasure.objects.create(
        namespace_id=alice.scope.namespace_id, target=ErasureTarget.NAMESPACE, session="", reason="asked",
        actor="tests", named=0, missing=0, found=0, documents=0, status="finished", created_at=timezone.now(),
        finished_at=timezone.now(),
    )  # fmt: skip
    with signing("ed25519", THEIRS), override_settings(MEMOS_KEY_PEPPER="the pepper of another server"):
        content = make({"memories": [memory_line(3)]}, manifest=said)
    assert +load(bob.scope, write(tmp_path, content)).counts["memories"] == {"new": 1}


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["hmac", "ed25519"])
def test_who_shares_a_key_is_not_taken_for_this_server(alice, bob, tmp_path, how):
    """A server with the same MEMOS_CUBE_KEY, or even the same MEMOS_CUBE_SIGNING_KEY, claims to be this one."""
    said = {"server": ledger.secret_mark(), "namespace_id": alice.scope.namespace_id, "namespace": "alice"}
    with signing(how):
        with override_settings(MEMOS_KEY_PEPPER="the pepper of another server"):
            content = make({"memories": [memory_line(1)]}, manifest=said)
            assert open_cube(write(tmp_path, content)).signature == CubeSignature.OWN
        reader = open_cube(write(tmp_path, content))
        assert (reader.signature, reader.is_trusted) == (CubeSignature.TRUSTED, True)
        assert (reader.is_of_this_server, reader.is_of(alice.scope)) == (False, False)
        own = resign(content, lambda sealed: sealed["signature"].pop("own"))
        assert open_cube(write(tmp_path, own)).signature == CubeSignature.TRUSTED
        # This server's own signature, but of another manifest.
        mine = orjson.loads(manifests.seal(reader.manifest))["signature"]["own"]
        other = make({"memories": [memory_line(2)]}, manifest=said)
        moved = resign(other, lambda sealed: sealed["signature"].update(own=mine))
        assert open_cube(write(tmp_path, moved)).signature == CubeSignature.TRUSTED
        # Its memories are loaded as those of a known sender: under new ids.
        assert +load(bob.scope, write(tmp_path, content)).counts["memories"] == {"new": 1}
        reader = open_cube(write(tmp_path, content))
        assert choose_ids(alice.scope, reader, CubeIds.AUTO) == CubeIds.NEW


@pytest.mark.django_db
def test_a_server_knows_its_own_files_by_each_of_its_keys(alice, tmp_path, remember):
    remember(alice, "Tulip 1 is red.")
    for how in ("hmac", "ed25519"):
        with signing(how):
            write_cube(alice.scope, tmp_path / how, options=DumpOptions(), now=timezone.now())
            reader = open_cube(tmp_path / how)
            assert reader.is_of(alice.scope)
            assert choose_ids(alice.scope, reader, CubeIds.AUTO) == CubeIds.KEEP
    with override_settings(MEMOS_CUBE_KEY=SHARED, MEMOS_CUBE_SIGNING_KEY=private(THEIRS)):
        # This server signed it before it had a key of this kind.
        assert open_cube(tmp_path / "hmac").is_of(alice.scope)
        assert open_cube(tmp_path / "ed25519").signature == CubeSignature.UNKNOWN


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["hmac", "ed25519"])
def test_a_file_that_is_replayed_into_another_namespace_takes_nothing_of_its_own(alice, bob, tmp_path, remember, how):
    remember(alice, "Tulip 1 is red.")
    policy = {"version": 1, "overrides": {}, "reason": "", "updated_by": "x", "updated_at": AT}
    NamespacePolicy.objects.create(namespace_id=alice.scope.namespace_id, **policy)
    before = list(Memory.objects.in_scope(alice.scope).values())
    with signing(how):
        path = tmp_path / "alice.memcube"
        write_cube(alice.scope, path, options=DumpOptions(vectors=True), now=timezone.now())
        with pytest.raises(UnreadableImport, match="the namespace 'alice' of this server has them"):
            load(bob.scope, path, ids=CubeIds.KEEP)
        for outcome in ("new", "present"):
            assert +load(bob.scope, path).counts["memories"] == {outcome: 1}

    assert list(Memory.objects.in_scope(alice.scope).values()) == before
    loaded = Memory.objects.in_scope(bob.scope).get()
    assert (loaded.text, loaded.pk == before[0]["id"]) == ("Tulip 1 is red.", False)
    assert not NamespacePolicy.objects.in_scope(bob.scope).exists()


@pytest.mark.django_db
def test_an_old_file_replayed_into_its_namespace_takes_no_change_back(alice, tmp_path, remember):
    memory_id = uuid.UUID(remember(alice, "Tulip 1 is red."))
    path = tmp_path / "alice.memcube"
    write_cube(alice.scope, path, options=DumpOptions(), now=timezone.now())
    Memory.objects.in_scope(alice.scope).filter(pk=memory_id).update(text="Tulip 1 is blue.", state="archived")
    NamespacePolicy.objects.create(
        namespace_id=alice.scope.namespace_id, version=1, overrides={"gate.worth_threshold": 0.5}, updated_at=AT
    )

    outcome = load(alice.scope, path, policy=True, holds=True)
    assert +outcome.counts["memories"] == {"present": 1}
    found = Memory.objects.in_scope(alice.scope).get()
    assert (found.pk, found.text, found.state) == (memory_id, "Tulip 1 is blue.", "archived")
    assert NamespacePolicy.objects.in_scope(alice.scope).get().overrides == {"gate.worth_threshold": 0.5}


def test_a_manifest_is_signed_as_it_stands_in_the_file(tmp_path):
    """White space and the order of names make no difference, but an additional name does."""
    reader = open_cube(write(tmp_path, make()))
    sealed = orjson.loads(manifests.seal(reader.manifest))
    turned = {"signature": sealed["signature"], "manifest": dict(reversed(asdict(reader.manifest).items()))}
    assert manifests.open_sealed(orjson.dumps(turned, option=orjson.OPT_INDENT_2))[1] == CubeSignature.OWN
    sealed["manifest"]["trusted"] = True
    with pytest.raises(UnreadableImport, match="not the shape"):
        manifests.open_sealed(orjson.dumps(sealed))


def test_a_file_of_before_own_signatures_is_asked_what_was_erased(alice, bob, tmp_path, remember):
    identity = remember(alice, "The safe opens with zinnober.")
    path = tmp_path / "a.memcube"
    write_cube(alice.scope, path, options=DumpOptions(), now=timezone.now())
    target = requests.Target(memory_ids=(uuid.UUID(identity),))
    erasure = requests.request(alice.scope, target=target, reason="gone", now=timezone.now())
    assert run.carry_out(namespace_id=alice.scope.namespace_id, erasure_id=erasure.id, now=timezone.now)
    file = write(tmp_path, resign(path.read_bytes(), lambda sealed: sealed["signature"].pop("own")))

    assert open_cube(file).signature == CubeSignature.OWN
    load(bob.scope, file)
    assert not Memory.objects.in_scope(bob.scope).exists()
