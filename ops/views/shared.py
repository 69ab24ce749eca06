"""Parts of pages that renew themselves: looked up once for all who see the same, in whichever process they ask."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

from memory.stores.redis import RedisAway, call
from memory.types import Access
from ops.access import page_access
from ops.views.live import Part, version_of

log = logging.getLogger("memos.ops")

# What nobody has asked for since is dropped by the next look.
_DROPPED_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class Look:
    """What a part shows now. `news` (JSON-able, or told by its text): parts with equal news are not sent again."""

    context: Mapping[str, Any]
    news: Any


@dataclass(frozen=True, slots=True)
class _Kept:
    """`until`: the moment (seconds since 1970) up to which the part serves others as well."""

    part: Part
    until: float

    def serves(self, seconds: float) -> bool:
        """Whether it is not too old; nor from the future, where the clock went back."""
        return 0 <= self.until - time.time() <= seconds


_kept: dict[str, _Kept] = {}
_lock = threading.Lock()


def shared_part(
    request: HttpRequest, template: str, look: Callable[[], Look], *, seconds: float, anew: bool = False
) -> Part:
    """The part, as someone with the same reach and rights saw it at the same address less than `seconds` ago.

    Else, and where it is wanted `anew`, it is looked up and kept for the others. The template may use the context and
    the address, nothing of the person: no CSRF token and no message. Without Redis each process looks for itself.
    """
    key = _key(request, template)
    mine = _kept.get(key)
    if not anew:
        if mine is not None and mine.serves(seconds):
            return mine.part
        others = _read(key)
        if others is not None and others.serves(seconds):
            _keep(key, others)
            return others.part
    found = look()
    version = version_of(found.news)
    if mine is not None and mine.part.version == version:
        part = mine.part
    else:
        part = Part(version, render_to_string(template, dict(found.context), request))
    kept = _Kept(part, time.time() + seconds)
    _keep(key, kept)
    _write(key, kept, seconds)
    return part


def forget_kept() -> None:
    """Makes the next look in this process a new one, unless another process has one that serves."""
    _kept.clear()


def reach(access: Access) -> tuple[Any, ...]:
    """Which namespaces are reached, to keep apart what is kept."""
    return ("all",) if access.all_namespaces else tuple(sorted(access.namespace_ids))


def _key(request: HttpRequest, template: str) -> str:
    query = sorted((name, values) for name, values in request.GET.lists() if name != "v")
    parts = (template, query, reach(page_access(request)), _rights(request.user), get_language())
    return f"memos:part:1:{hashlib.sha256(repr(parts).encode()).hexdigest()}"


def _rights(user: AbstractUser | AnonymousUser) -> tuple[str, ...]:
    return ("all",) if user.is_superuser else tuple(sorted(user.get_all_permissions()))


def _keep(key: str, kept: _Kept) -> None:
    with _lock:
        dropped = time.time() - _DROPPED_AFTER
        for old in [name for name, one in _kept.items() if one.until < dropped]:
            del _kept[old]
        _kept[key] = kept


def _read(key: str) -> _Kept | None:
    try:
        raw = call(lambda client: client.get(key))
    except RedisAway:
        return None
    if raw is None:
        return None
    try:
        version, html, until = orjson.loads(Signer(salt=key).unsign(raw.decode()))
    except (BadSignature, UnicodeDecodeError):
        log.warning("a part of a page in Redis was not written by this server and is not shown")
        return None
    return _Kept(Part(version, mark_safe(html)), until)  # noqa: S308 - signed: what a template of ours gave


def _write(key: str, kept: _Kept, seconds: float) -> None:
    # Signed: who can write to Redis must not be able to put anything on the pages of staff.
    value = Signer(salt=key).sign(orjson.dumps([kept.part.version, kept.part.html, kept.until]).decode())
    try:
        call(lambda client: client.set(key, value, ex=math.ceil(seconds)))
    except RedisAway:
        # The part is good all the same: the next process looks for itself.
        return
