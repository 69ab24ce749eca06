"""Checks the machine, the settings and access to the server."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import checks
from django.db.models import Q

from memory.conf import UNSAFE
from memory.models import ApiKey
from memory.services.diagnosis.finding import FAIL, OK, WARN, Finding

MIN_PYTHON = (3, 11)
LOW_DISK, FULL_DISK = 2 * 2**30, 300 * 2**20
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# Checks that repeat the missing HTTPS of a server four times, and DEBUG and anonymous access, which `open_doors`
# reports.
_NAMED_ELSEWHERE = frozenset(
    {"security.W004", "security.W012", "security.W016", "security.W021", "security.W018", "memos.E004", "memos.E005"}
)


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return Finding(FAIL, "python", version, f"use Python {'.'.join(map(str, MIN_PYTHON))} or later")
    return Finding(OK, "python", version)


def system_checks() -> Finding:
    tags = [UNSAFE, checks.Tags.security, checks.Tags.compatibility, checks.Tags.models, checks.Tags.caches]
    found = checks.run_checks(tags=tags, include_deployment_checks=True)
    found = [message for message in found if message.id not in _NAMED_ELSEWHERE and not message.is_silenced()]
    if not found:
        return Finding(OK, "settings", "no system check has an objection")
    worst = FAIL if any(message.level >= checks.ERROR for message in found) else WARN
    what = "; ".join(f"{message.id} {' '.join(str(message.msg).split())}" for message in found)
    hints = [" ".join(str(message.hint).split()) for message in found if message.hint]
    return Finding(worst, "settings", what, "; ".join(hints) or "see `manage.py check --deploy`")


def open_doors() -> Finding:
    """Check whether the server grants more access than it should."""
    open_doors = [
        name
        for name, is_open in (("MEMOS_DEBUG", settings.DEBUG), ("MEMOS_ANONYMOUS", settings.MEMOS_ANONYMOUS))
        if is_open
    ]
    local = settings.MEMOS_HOST in LOOPBACK
    if open_doors:
        what = f"{' and '.join(open_doors)} on, listening on {settings.MEMOS_HOST}"
        return Finding(
            WARN if local else FAIL, "access", what, f"unset {' and '.join(open_doors)} where others reach it"
        )
    if not (local or settings.MEMOS_HTTPS):
        what = f"listening on {settings.MEMOS_HOST} without HTTPS: keys and passwords travel in the clear"
        return Finding(WARN, "access", what, "put a proxy with a certificate in front and set MEMOS_HTTPS=1")
    return Finding(OK, "access", "keys are required" + (", HTTPS" if settings.MEMOS_HTTPS else ", this machine only"))


def disk() -> Finding:
    folder = Path(settings.MEMOS_DATA_DIR)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    what = f"{free / 2**30:.1f} GiB free at {folder}"
    if free < LOW_DISK:
        return Finding(FAIL if free < FULL_DISK else WARN, "disk", what, "make room, or move MEMOS_DATA_DIR")
    if not os.access(folder, os.W_OK):
        return Finding(
            WARN, "disk", f"{folder} is not writable for this user", "run as its owner, or set MEMOS_DATA_DIR"
        )
    return Finding(OK, "disk", what)


def keys(*, now: datetime) -> Finding:
    usable = ApiKey.objects.filter(revoked_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=now)).count()
    if not usable:
        fix = "manage.py issue_api_key NAME --namespace NAMESPACE"
        return Finding(WARN, "API keys", "there is none that can be used", fix)
    return Finding(OK, "API keys", f"{usable} can be used")


def staff() -> Finding:
    staff = get_user_model()._default_manager.filter(is_staff=True, is_active=True).count()
    if not staff:
        return Finding(WARN, "staff", "nobody can log in to the console", "manage.py createsuperuser")
    return Finding(OK, "staff", f"{staff} can log in to the console")
