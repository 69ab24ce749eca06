"""Shares parts of polled pages among all users who see the same, across processes."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, QueryDict
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

from memory.errors import RedisAway
from memory.stores.redis import call
from memory.types import Access
from ops.access import page_access
from ops.views.live import Fragment, version_of

log = logging.getLogger("memos.ops")

# Parts that were not requested for this long are dropped at the next lookup, as are the oldest beyond this number.
_DROPPED_AFTER = 60.0
_MAX_KEPT = 200
# No part is polled less often than this. Parts that are shared for longer are also looked up in Redis at each poll:
# another process may have a newer one, and a page must not go back in time.
_SHORT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Look:
    """The present contents of a part. Parts with equal `news` (JSON, or hashed by str()) are not sent again."""

    context: Mapping[str, Any]
    news: Any


@dataclass(frozen=True, slots=True)
class _Kept:
    """A stored part. It is shared up to the moment `until` (seconds since 1970)."""

    part: Fragment
    until: float

    def serves(self, seconds: float) -> bool:
        """Return whether it is recent enough, and not from the future, as after the clock went back."""
        return 0 <= self.until - time.time() <= seconds


_kept: dict[str, _Kept] = {}
_lock = threading.Lock()


def share_part(
    request: HttpRequest,
    template: str,
    look: Callable[[HttpRequest], Look],
    *,
    parameters: Sequence[str],
    seconds: float,
    anew: bool = False,
) -> Fragment:
    """Return the part as built less than `seconds` ago for a user with the same reach, rights and `parameters`.

    If there is none, or if `anew`, it is built and stored for others. `look` and `template` get a request with only
    these `parameters` in its query. They may use its reach and rights, but nothing personal: no CSRF token and no
    messages. Without Redis each process builds its own.
    """
    key = _key(request, template, parameters)
    mine = _kept.get(key)
    if not anew:
        if mine is not None and mine.serves(seconds) and seconds <= _SHORT_SECONDS:
            return mine.part
        newest = max((one for one in (mine, _read(key)) if one and one.serves(seconds)), key=_until, default=None)
        if newest is not None:
            _keep(key, newest)
            return newest.part
    asked = _narrow(request, parameters)
    found = look(asked)
    version = version_of(found.news)
    if not anew and mine is not None and mine.part.version == version:
        part = mine.part
    else:
        part = Fragment(version, render_to_string(template, dict(found.context), asked))
    kept = _Kept(part, time.time() + seconds)
    _keep(key, kept)
    _write(key, kept, seconds)
    return part


def forget_kept() -> None:
    """Clear this process's parts, so that the next lookup builds one unless another process has it."""
    _kept.clear()


def _reach(access: Access) -> tuple[Any, ...]:
    return ("all",) if access.all_namespaces else tuple(sorted(access.namespace_ids))


def _key(request: HttpRequest, template: str, parameters: Sequence[str]) -> str:
    query = [request.GET.get(name, "") for name in parameters]
    parts = (template, query, _reach(page_access(request)), _rights(request.user), get_language())
    return f"memos:part:1:{hashlib.sha256(repr(parts).encode()).hexdigest()}"


def _narrow(request: HttpRequest, parameters: Sequence[str]) -> HttpRequest:
    narrowed = copy(request)
    narrowed.GET = QueryDict(urlencode({name: request.GET[name] for name in parameters if name in request.GET}))
    return narrowed


def _rights(user: AbstractUser | AnonymousUser) -> tuple[str, ...]:
    return ("all",) if user.is_superuser else tuple(sorted(user.get_all_permissions()))


def _keep(key: str, kept: _Kept) -> None:
    with _lock:
        dropped = time.time() - _DROPPED_AFTER
        for old in [name for name, one in _kept.items() if one.until < dropped]:
            del _kept[old]
        _kept[key] = kept
        while len(_kept) > _MAX_KEPT:
            del _kept[min(_kept, key=lambda name: _kept[name].until)]


def _until(kept: _Kept) -> float:
    return kept.until


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
    return _Kept(Fragment(version, mark_safe(html)), until)  # noqa: S308 - signed: what a template of ours gave


def _write(key: str, kept: _Kept, seconds: float) -> None:
    # The value is signed, so that writing to Redis is not enough to put something on the pages of staff.
    value = Signer(salt=key).sign(orjson.dumps([kept.part.version, kept.part.html, kept.until]).decode())
    try:
        call(lambda client: client.set(key, value, ex=math.ceil(seconds)))
    except RedisAway:
        # The part can be used anyway; other processes build their own.
        return
