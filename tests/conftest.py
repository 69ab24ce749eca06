"""The world that tests share: Alice and Bob are tenants with separate keys, Olga is an outsider without any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management.commands import flush
from django.db import connection
from django.db.backends.postgresql.operations import DatabaseOperations
from django.test import Client, RequestFactory, override_settings
from django.utils import timezone

from memory import caches
from memory.models import ModelCall, Namespace, UsageDay, UsageReservation
from memory.postgresql import reach
from memory.providers.calls import call_ended
from memory.services.ingestion.ingest import ingest
from memory.services.tenancy.keys import issue_key
from memory.services.usage import bookkeeper
from memory.stores import model_calls
from memory.stores import redis as redis_store
from memory.types import NewMemory, Scope
from tests.answer_contract import list_faults
from tests.embedded_plugin import starts_postgresql

pytest_plugins = ["tests.providers.llama"]

# A test itself acts as the login; requests that it sends to the server are subject to the policies.
reach.open_process()


@dataclass(frozen=True)
class Tenant:
    """A namespace and a client that sends its key."""

    scope: Scope
    token: str
    client: Client

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """POST as JSON; `headers` by their HTTP names with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, data=body, content_type="application/json", headers=named)

    def get(self, path: str, **query: str) -> Any:
        return self.client.get(path, query_params=query)


# Models and permissions stay as the migrations left them: flush would create the same ones again.
KEPT = ("django_content_type", "auth_permission")
# The statement bypasses triggers and foreign keys, since the database refuses to empty the audit log. Deleting the few
# rows of a test takes a fraction of the time that truncating every table does. A table that has grown is truncated
# together with its dead rows.
EMPTY = """
DO $$
DECLARE
    one text;
    filled boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOREACH one IN ARRAY ARRAY[{tables}] LOOP
        IF pg_relation_size(one::regclass) > 1000000 THEN
            EXECUTE format('TRUNCATE %I CASCADE', one);
        ELSE
            EXECUTE format('SELECT EXISTS (SELECT FROM %I)', one) INTO filled;
            IF filled THEN
                EXECUTE format('DELETE FROM %I', one);
            END IF;
        END IF;
    END LOOP;
END $$
"""


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """Return whether the database outlives the run. It is not dropped if the run started the server, which goes as a
    whole.

    PostgreSQL refuses to drop a database to which some thread is still connected.
    """
    return starts_postgresql() or bool(request.config.getvalue("reuse_db"))


@pytest.fixture(autouse=True, scope="session")
def _empty_tables_fast() -> Iterator[None]:
    """Replace how the database is emptied after a test that commits (Django's `flush`)."""

    def sql_flush(self: DatabaseOperations, style: Any, tables: Any, **options: Any) -> list[str]:
        names = ", ".join(f"'{table}'" for table in sorted(set(tables) - set(KEPT)))
        return [EMPTY.format(tables=names)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        patch.setattr(flush, "emit_post_migrate_signal", lambda *arguments: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _hash_passwords_fast() -> Iterator[None]:
    """Use a fast hash: a safe one takes half a second, and many tests sign someone in."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True, scope="session")
def _find_static_files_when_asked() -> Iterator[None]:
    """Look up static files on demand: otherwise every `Client` would list all of them, which takes 60 ms."""
    with override_settings(WHITENOISE_AUTOREFRESH=True):
        yield


@pytest.fixture(autouse=True, scope="session")
def _check_answers() -> Iterator[None]:
    """Check every API answer of a test against the OpenAPI document."""

    def generic(self: Client, method: str, path: str, data: Any = "", *arguments: Any, **options: Any) -> Any:
        response = RequestFactory.generic(self, method, path, data, *arguments, **options)
        # A form is not checked against the document, which describes the route's JSON.
        media_type = str(arguments[0] if arguments else options.get("content_type", ""))
        body = "" if media_type.startswith("multipart/") else data
        faults = list(list_faults(method, path, body, response))
        assert not faults, "the OpenAPI document says something else:\n" + "\n".join(faults)
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "generic", generic)
        yield


@pytest.fixture(autouse=True)
def _fresh_process_state() -> Iterator[None]:
    """Clear process-wide state, so that tests do not affect each other."""
    caches.forget_all()
    model_calls.forget()
    redis_store.resume()
    # If a test creates the tables again, namespaces get the ids of earlier ones.
    redis_store.call(lambda client: [client.delete(key) for key in client.scan_iter("memos:*")])
    yield
    caches.forget_all()


@pytest.fixture(autouse=True)
def _forget_model_calls(django_db_blocker: Any) -> Iterator[None]:
    """Delete recorded calls of models, which are written on another connection and so not rolled back with a test."""
    ended: list[Any] = []

    def note(**signal: Any) -> None:
        ended.append(signal["call"])

    call_ended.connect(note)
    yield
    call_ended.disconnect(note)
    with django_db_blocker.unblock():
        # Where no test has asked for a database, nothing was recorded.
        if ended and connection.settings_dict["NAME"].startswith("test_"):
            bookkeeper.book(_delete_model_calls)
        # A refused call is not recorded, but was checked on the same connection.
        bookkeeper.close()


def _delete_model_calls() -> None:
    for model in (ModelCall, UsageDay, UsageReservation):
        model.objects.across_namespaces().delete()


@pytest.fixture
def make_tenant(db: None) -> Callable[..., Tenant]:
    """Make a namespace with a key of the given scopes."""

    def make(name: str, *, scopes: tuple[str, ...] = ("read", "write", "admin"), **options: Any) -> Tenant:
        namespace, _ = Namespace.objects.get_or_create(name=name)
        key, token = issue_key(
            name=f"{name}'s key",
            scopes=list(scopes),
            namespaces=[] if options.get("all_namespaces") else [namespace],
            all_namespaces=options.get("all_namespaces", False),
            expires_at=options.get("expires_at"),
            requests_per_minute=options.get("requests_per_minute"),
            actor="tests",
            now=timezone.now(),
        )
        scope = Scope(namespace.pk, name, f"key:{key.prefix}")
        return Tenant(scope, token, Client(headers={"Authorization": f"Bearer {token}"}))

    return make


@pytest.fixture
def alice(make_tenant: Callable[..., Tenant]) -> Tenant:
    return make_tenant("alice")


@pytest.fixture
def bob(make_tenant: Callable[..., Tenant]) -> Tenant:
    return make_tenant("bob")


@pytest.fixture
def olga(db: None) -> Client:
    """Return an outsider's client, without a key."""
    return Client()


@pytest.fixture
def remember() -> Callable[..., str]:
    """Ingest one turn through the service and return its id."""

    def run(tenant: Tenant, text: str, *, session: str = "s1", **fields: Any) -> str:
        memory = NewMemory(session=session, role=fields.pop("role", "user"), text=text, **fields)
        return str(ingest(tenant.scope, memory=memory, now=timezone.now()).memory_ids[0])

    return run
