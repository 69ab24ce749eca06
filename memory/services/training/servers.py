"""Loads adapters into servers of models that speak vLLM's routes, and takes them out again.

Only addresses of MEMOS_ADAPTER_SERVERS are spoken to; no caller can name another. Whether a server has an adapter is
what its list of models says, before and after: an answer to the request alone is not trusted.
"""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from memory.errors import AdapterServerUnavailable

SECONDS = 10.0
_READ_BYTES = 4 * 1024 * 1024
_SAID_CHARS = 200


def addresses() -> list[str]:
    """The servers that adapters may be loaded into."""
    return [address.rstrip("/").removesuffix("/v1") for address in settings.MEMOS_ADAPTER_SERVERS]


def problem_of(address: str) -> str | None:
    """What is wrong with an address of the settings; None when nothing is."""
    try:
        parts = urlsplit(address)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    else:
        right = right and parts.username is None and not parts.query and not parts.fragment
    return None if right else f"{address!r} is no address of a server, such as http://127.0.0.1:8000"


def is_served(address: str, name: str) -> bool:
    """Whether the server lists the model. Raises AdapterServerUnavailable."""
    status, answer = _exchange(address, "GET", "/v1/models")
    try:
        listed = [entry["id"] for entry in json.loads(answer)["data"]]
    except (ValueError, TypeError, KeyError):
        raise _unavailable(address, f"its list of models cannot be read (status {status})") from None
    return name in listed


def load(address: str, name: str, path: str) -> None:
    """Has the server load the adapter of the folder. Raises AdapterServerUnavailable."""
    if is_served(address, name):
        # It may be another version under the same name.
        unload(address, name)
    status, answer = _exchange(address, "POST", "/v1/load_lora_adapter", {"lora_name": name, "lora_path": path})
    if not 200 <= status < 300 or not is_served(address, name):
        raise _unavailable(address, f"it did not load the adapter ({_say(status, answer)})")


def unload(address: str, name: str) -> None:
    """Has the server let go of the adapter; one that it has not is none. Raises AdapterServerUnavailable."""
    if not is_served(address, name):
        return
    status, answer = _exchange(address, "POST", "/v1/unload_lora_adapter", {"lora_name": name})
    if is_served(address, name):
        raise _unavailable(address, f"it did not unload the adapter ({_say(status, answer)})")


def _exchange(address: str, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
    """Status and body of an answer; redirects are not followed."""
    if problem := problem_of(address):
        raise _unavailable(address, problem)
    parts = urlsplit(address)
    assert parts.hostname is not None
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if settings.MEMOS_ADAPTER_SERVER_KEY:
        headers["Authorization"] = f"Bearer {settings.MEMOS_ADAPTER_SERVER_KEY}"
    link = (
        http.client.HTTPSConnection(parts.hostname, parts.port, timeout=SECONDS, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
    )
    try:
        link.request(method, parts.path + path, json.dumps(body) if body is not None else None, headers)
        response = link.getresponse()
        return response.status, response.read(_READ_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _unavailable(address, f"it does not answer ({type(error).__name__})") from error
    finally:
        link.close()


def _say(status: int, answer: bytes) -> str:
    """What the server answered, and for a route that it lacks how it gets one."""
    if status in (404, 405):
        return (
            f"status {status}: it has no such route; vLLM has it when it is started with --enable-lora and "
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
        )
    return f"status {status}: {answer[:_SAID_CHARS].decode('utf-8', 'replace')}".replace("\0", "")


def _unavailable(address: str, what: str) -> AdapterServerUnavailable:
    return AdapterServerUnavailable(
        f"The server of models {address}: {what}. If it is gone for good, take it out of MEMOS_ADAPTER_SERVERS.",
        detail={"server": address},
    )
