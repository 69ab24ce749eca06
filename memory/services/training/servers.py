"""Loads adapters into model servers that speak vLLM's routes, and unloads them again.

Only addresses of MEMOS_ADAPTER_SERVERS are used; no caller can name another one. Whether a server has an adapter is
read from its list of models, before and after: the answer to the request alone is not trusted.
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
# Weights are read from a disk, after the server's present work.
LOAD_SECONDS = 60.0
_READ_BYTES = 4 * 1024 * 1024
_SAID_CHARS = 200
_RUNTIME_UPDATING = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
_FOLDER = "it must see MemOS's folder of adapters under the same path, and may read the files of the adapter"
# The errors of vLLM, and their remedies.
_MENDS = {
    "LoRA is not enabled": "start it with --enable-lora",
    "max_lora_rank": "start it with a --max-lora-rank that is not below the adapter's rank",
    "No adapter found": _FOLDER,
    "Permission denied": _FOLDER,
}


def addresses() -> list[str]:
    """Return the servers into which adapters may be loaded."""
    return [address.rstrip("/").removesuffix("/v1") for address in settings.MEMOS_ADAPTER_SERVERS]


def problem_of(address: str) -> str | None:
    """Return the problem of an address in the settings; None when it is valid."""
    try:
        parts = urlsplit(address)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    else:
        right = right and parts.username is None and not parts.query and not parts.fragment
    return None if right else f"{address!r} is no address of a server, such as http://127.0.0.1:8000"


def is_served(address: str, name: str, path: str) -> bool:
    """Return whether the server lists the model, as loaded from the folder. Raises AdapterServerUnavailable."""
    return _is_listed(_list_models(address), name, path)


def load(address: str, name: str, path: str) -> None:
    """Load the adapter of the folder into the server, in place of another one with the same name.

    Raises AdapterServerUnavailable.
    """
    listed = _list_models(address)
    if _is_listed(listed, name, path):
        return
    if name in listed:
        # Do not use `load_inplace`: vLLM keeps the flag with the adapter, and reads the files again at every step of an
        # answer.
        unload(address, name)
    body = {"lora_name": name, "lora_path": path}
    status, answer = _exchange(address, "POST", "/v1/load_lora_adapter", body, seconds=LOAD_SECONDS)
    if not 200 <= status < 300 or not is_served(address, name, path):
        raise _unavailable(address, f"it did not load the adapter ({_say(status, answer)})")


def unload(address: str, name: str) -> None:
    """Unload the adapter from the server; one that it does not have counts as unloaded. Raises
    AdapterServerUnavailable."""
    # This detects an unavailable server sooner.
    _list_models(address)
    # Unload even an unlisted adapter: vLLM may still be loading it for an earlier request, and unloads it after that.
    status, answer = _exchange(address, "POST", "/v1/unload_lora_adapter", {"lora_name": name}, seconds=LOAD_SECONDS)
    if name in _list_models(address):
        raise _unavailable(address, f"it did not unload the adapter ({_say(status, answer)})")


def _list_models(address: str) -> dict[str, str | None]:
    """Return the folder of each model that the server lists, by name; None for one without a folder."""
    status, answer = _exchange(address, "GET", "/v1/models")
    try:
        return {entry["id"]: entry.get("root") for entry in json.loads(answer)["data"]}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _unavailable(address, f"its list of models cannot be read ({_say(status, answer)})") from None


def _is_listed(listed: dict[str, str | None], name: str, path: str) -> bool:
    return name in listed and listed[name] in (path, None)


def _exchange(
    address: str, method: str, path: str, body: dict[str, Any] | None = None, *, seconds: float = SECONDS
) -> tuple[int, bytes]:
    """Return status and body of an answer; redirects are not followed."""
    if problem := problem_of(address):
        raise _unavailable(address, problem)
    parts = urlsplit(address)
    assert parts.hostname is not None
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if settings.MEMOS_ADAPTER_SERVER_KEY:
        headers["Authorization"] = f"Bearer {settings.MEMOS_ADAPTER_SERVER_KEY}"
    link = (
        http.client.HTTPSConnection(parts.hostname, parts.port, timeout=seconds, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)
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
    """Describe the server's answer, with a remedy if one is known."""
    said = _read_message(answer)
    if status in (404, 405) and said is None:
        hint = f"it has no such route; vLLM has it when it is started with --enable-lora and {_RUNTIME_UPDATING}"
        return f"status {status}: {hint}"
    text = answer.decode("utf-8", "replace") if said is None else said
    quoted = f"status {status}: {text[:_SAID_CHARS]}".replace("\0", "")
    if status in (401, 403):
        return f"{quoted}; MEMOS_ADAPTER_SERVER_KEY is the key that vLLM was started with (--api-key)"
    return "; ".join([quoted, *(mend for mark, mend in _MENDS.items() if mark in text)])


def _read_message(answer: bytes) -> str | None:
    """Return the message of an error in vLLM's form; None for other errors, such as a missing route."""
    try:
        error = json.loads(answer)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, TypeError, KeyError):
        return None


def _unavailable(address: str, what: str) -> AdapterServerUnavailable:
    return AdapterServerUnavailable(
        f"The server of models {address}: {what}. If it is gone for good, take it out of MEMOS_ADAPTER_SERVERS.",
        detail={"server": address},
    )
