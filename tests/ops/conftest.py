"""A small world for staff to inspect: two namespaces, a hostile text, a summary, a pack, a key."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection, connections
from django.test import Client

from memory import caches
from memory.models import ApiKey, ContextPack, Namespace
from memory.services.ingestion.ingest import ingest_batch
from memory.services.summaries.condense import condense_session
from memory.services.tenancy.keys import issue_key
from memory.stores import redis as redis_store
from memory.types import NewMemory, Scope
from ops.models import StaffGrant
from ops.views.shared import forget_kept

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
HOSTILE = '<script>alert("memory")</script> </textarea> {{ 7|add:7 }} harbour'


@dataclass(frozen=True)
class World:
    """Two namespaces: `ids` are harbour's memories, oldest first, `hostile` the last one; `elsewhere` is the
    bakery's."""

    harbour: Scope
    ids: list[uuid.UUID]
    hostile: uuid.UUID
    elsewhere: uuid.UUID
    key: ApiKey
    token: str
    pack: ContextPack


@pytest.fixture(autouse=True)
def _plain_settings(settings):
    settings.MEMOS_EMBEDDING_PROVIDER = "hash"
    settings.SECURE_SSL_REDIRECT = False
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    caches.forget_all()
    forget_kept()
    yield
    caches.forget_all()


def scope_of(name: str) -> Scope:
    return Scope(Namespace.objects.get_or_create(name=name)[0].pk, name, "key:test")


def turns(scope: Scope, session: str, *texts: str) -> list[uuid.UUID]:
    items = [(scope, NewMemory(session=session, role="user", text=text, speaker="Ann")) for text in texts]
    return ingest_batch(items, now=NOW).memory_ids


@pytest.fixture
def world(db) -> World:
    harbour = scope_of("harbour")
    ids = turns(
        harbour,
        "night shift",
        "The harbour pilot Tove boards at buoy seven.",
        "Crane four is out of service.",
        "We decided to close the northern gate because of the storm.",
        HOSTILE,
    )
    [elsewhere] = turns(scope_of("bakery"), "recipes", "The sourdough rests for nine hours in the harbour bakery.")
    condense_session(harbour, session="night shift", now=NOW)
    key, token = issue_key(name="Dock agent", scopes=["read"], all_namespaces=True, actor="test", now=NOW)
    pack = ContextPack.objects.create(
        namespace_id=harbour.namespace_id,
        session="night shift",
        query_text=HOSTILE,
        retrieved_count=1,
        token_original=10,
        token_condensed=5,
        pack={"schema": "memos.context_pack.v1", "text": HOSTILE},
    )
    return World(harbour, ids, ids[-1], elsewhere, key, token, pack)


@pytest.fixture
def staff(db) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ann", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def grant_console(db):
    """Return a function that creates a member of staff with access to the console, these namespaces and permissions."""

    def make(*namespaces: str, permissions: tuple[str, ...] = ()) -> Client:
        user = User.objects.create_user(f"clerk{User.objects.count()}", is_staff=True)
        for permission in ("ops.view_console", *permissions):
            app, code = permission.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=code))
        for name in namespaces:
            StaffGrant.objects.create(user=user, namespace=Namespace.objects.get(name=name))
        client = Client()
        client.force_login(user)
        return client

    return make


class PostgresAway:
    """Makes PostgreSQL unavailable: it closes connections, and points new ones to a port without a listener."""

    def __init__(self) -> None:
        self.where = {name: connections.settings["default"][name] for name in ("HOST", "PORT")}

    def take(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        connections.settings["default"].update(HOST="127.0.0.1", PORT="1")
        connection.close()

    def bring_back(self) -> None:
        connections.settings["default"].update(self.where)
        connection.close()


@pytest.fixture
def postgres_away(transactional_db) -> Iterator[PostgresAway]:
    """Return an object whose `take()` disconnects PostgreSQL until `bring_back()` or the end of the test."""
    away = PostgresAway()
    yield away
    away.bring_back()


@pytest.fixture
def clear_shared() -> Callable[[], None]:
    """Return a function after which the next poll of a page computes it again, as it does after some seconds."""

    def clear() -> None:
        forget_kept()
        redis_store.call(lambda client: [client.delete(key) for key in client.scan_iter("memos:part:*")])

    return clear


@pytest.fixture
def redis_away(settings) -> Iterator[Callable[[], None]]:
    """Return a function that takes Redis away until the test ends."""

    def take() -> None:
        nobody = "redis://127.0.0.1:1/0"
        settings.CACHES = {name: {**cache, "LOCATION": nobody} for name, cache in settings.CACHES.items()}
        forget_kept()

    yield take
    redis_store.resume()
