"""Prepares a server: tables, embedding model, schedules, and on the first start a login, a key and demo data."""

from __future__ import annotations

import logging
import secrets

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils import timezone

from memory.demo.seed import seed_demo_namespace
from memory.enums import AccessScope
from memory.errors import EmbeddingUnavailable
from memory.models import ApiKey, Namespace
from memory.postgresql import reach
from memory.postgresql.base import open_connection
from memory.schedules import ensure_schedules
from memory.services.audit import chain
from memory.services.index.embedding_model import active_model
from memory.services.tenancy.keys import issue_key
from memory.types import system_access
from memos_site.first_start import FirstStart
from memos_site.migrated import is_migrated

log = logging.getLogger("memos.bootstrap")

ACTOR = "command:bootstrap"
DEMO_NAMESPACE = "demo"


def bootstrap(*, demo: bool) -> FirstStart:
    """Prepares the server, creating only missing things, and returns these; it can run any number of times."""
    with reach.hold(reach.LOGIN):
        return _make_ready(demo=demo)


def _make_ready(*, demo: bool) -> FirstStart:
    if not is_migrated() or open_connection().row_security_state().lacks:
        call_command("migrate", verbosity=0, interactive=False)
    state = open_connection().row_security_state()
    if state.lacks:
        log.warning("row-level security does not hold", extra={"reason": state.lacks, "fix": state.fix})
    ensure_schedules()
    chain.recognise_cluster(now=timezone.now())
    try:
        active_model()
    except EmbeddingUnavailable as error:
        log.warning("no embedding model yet", extra={"reason": error.message})
    demo_memories = _demo() if demo else 0
    # These come last, because they cannot be shown again, and a start that fails would not show them.
    user, password = _staff_login()
    return FirstStart(user, password, _first_key(), demo_memories)


def _staff_login() -> tuple[str | None, str | None]:
    users = get_user_model().objects
    if users.filter(is_superuser=True).exists():
        return None, None
    password = settings.MEMOS_ADMIN_PASSWORD or secrets.token_urlsafe(12)
    users.create_superuser(settings.MEMOS_ADMIN_USER, password=password)
    return settings.MEMOS_ADMIN_USER, None if settings.MEMOS_ADMIN_PASSWORD else password


def _first_key() -> str | None:
    if ApiKey.objects.exists():
        return None
    _, token = issue_key(
        name="first start",
        scopes=list(AccessScope.values),
        namespaces=[],
        all_namespaces=True,
        expires_at=None,
        requests_per_minute=None,
        actor=ACTOR,
        now=timezone.now(),
    )
    return token


def _demo() -> int:
    if Namespace.objects.exists():
        return 0
    return seed_demo_namespace(system_access(ACTOR), namespace=DEMO_NAMESPACE, now=timezone.now())
