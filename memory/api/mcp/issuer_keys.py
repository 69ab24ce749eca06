"""Fetches and caches the keys that an OAuth issuer signs its tokens with (RFC 7517)."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt
import orjson
from django.conf import settings

from memory.caches import for_seconds
from memory.errors import MemosError

log = logging.getLogger("memos.keys")

KEPT_SECONDS = 600.0
# A token may name a key that is not known yet. Such tokens cause at most one request in this time.
ASKED_EVERY_SECONDS = 30.0
TIMEOUT_SECONDS = 5.0
MAX_BYTES = 262_144
MOST_KEYS = 50

_keys = for_seconds(KEPT_SECONDS)
_asked = for_seconds(ASKED_EVERY_SECONDS)
_lock = threading.Lock()


class IssuerUnavailable(MemosError):
    """Raised if the keys of the OAuth issuer cannot be read."""

    status = 503
    code = "issuer_unavailable"
    retry_after = 30


def find_key(kid: Any) -> jwt.PyJWK:
    """Returns the issuer's key with the id `kid`, or its only key if `kid` is None.

    Raises jwt.InvalidTokenError if there is none, and IssuerUnavailable.
    """
    issuer = settings.MEMOS_OAUTH_ISSUER
    found = _choose(_keys.get(issuer), kid)
    if found is None:
        with _lock:
            # Another thread may have fetched the keys meanwhile.
            found = _choose(_keys.get(issuer), kid)
            if found is None and _asked.get(issuer) is None:
                _asked.put(issuer, True)
                found = _choose(_keys.put(issuer, _fetch_keys(issuer)), kid)
    if found is None:
        if _keys.get(issuer) is None:
            raise IssuerUnavailable("The issuer's keys could not be read a moment ago. Try again in half a minute.")
        raise jwt.InvalidTokenError("it is signed with a key that its issuer does not list")
    return found


def _choose(keys: dict[str, jwt.PyJWK] | None, kid: Any) -> jwt.PyJWK | None:
    if not keys:
        return None
    if kid is None:
        return next(iter(keys.values())) if len(keys) == 1 else None
    return keys.get(kid) if isinstance(kid, str) else None


def _fetch_keys(issuer: str) -> dict[str, jwt.PyJWK]:
    """Fetches the issuer's keys for the supported algorithms, by id. Raises IssuerUnavailable."""
    try:
        with httpx2.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False) as client:
            listed = _read(client, settings.MEMOS_OAUTH_JWKS_URL or _find_address(client, issuer)).get("keys")
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        log.warning("the issuer's keys could not be read", extra={"reason": f"{type(error).__name__}: {error}"})
        raise IssuerUnavailable(
            "The issuer's keys could not be read: the token cannot be checked. Try again in half a minute; the log of "
            "the server says why."
        ) from error
    keys = {}
    for data in listed[:MOST_KEYS] if isinstance(listed, list) else []:
        key = _read_key(data)
        if key is not None:
            keys[key.key_id or ""] = key
    return keys


def _read_key(data: Any) -> jwt.PyJWK | None:
    """Reads a key; returns None if it is for another use, unknown or invalid, because issuers may list other keys."""
    if not isinstance(data, dict) or data.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK.from_dict(data)
    except jwt.PyJWTError as error:
        log.info("a key of the issuer is passed over", extra={"reason": str(error)})
        return None
    return key if key.algorithm_name in settings.MEMOS_OAUTH_ALGORITHMS else None


def _find_address(client: httpx2.Client, issuer: str) -> str:
    """Returns the URL of the issuer's keys from its metadata, by OpenID Connect or else by RFC 8414.

    Raises ValueError and HTTPError.
    """
    place = urlsplit(issuer)
    path = place.path.rstrip("/")
    try:
        about = _read(client, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    except httpx2.HTTPStatusError:
        about = _read(client, f"{place.scheme}://{place.netloc}/.well-known/oauth-authorization-server{path}")
    if about.get("issuer") != issuer:
        raise ValueError(f"the metadata are of the issuer {str(about.get('issuer'))[:200]!r}")
    address = about.get("jwks_uri")
    if not isinstance(address, str) or urlsplit(address).scheme not in {"https", place.scheme}:
        raise ValueError("the metadata name no jwks_uri")
    return address


def _read(client: httpx2.Client, url: str) -> dict[str, Any]:
    """Fetches the JSON object at `url`.

    Raises HTTPError, and ValueError if the answer is too long, too slow, or not a JSON object.
    """
    body = bytearray()
    until = time.monotonic() + TIMEOUT_SECONDS
    with client.stream("GET", url, headers={"Accept": "application/json"}) as response:
        if response.status_code != 200:
            raise httpx2.HTTPStatusError(
                f"{url} answers {response.status_code}", request=response.request, response=response
            )
        for piece in response.iter_bytes():
            body += piece
            if len(body) > MAX_BYTES or time.monotonic() > until:
                raise ValueError(f"{url} answers more than {MAX_BYTES} bytes, or too slowly")
    data = orjson.loads(bytes(body))
    if not isinstance(data, dict):
        raise ValueError(f"{url} answers no JSON object")
    return data
