"""Normalizes names and filters in requests to NFC, so that "é" is the same name however it was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.types import compose_name

# Fields that hold names, and lists of objects with such fields.
NAMES = frozenset(
    "namespace namespaces session_id session speaker user_id agent_id app_id run_id user_name mem_cube_id bank_id"
    " document_id conversation_id name user".split()
)
_LISTS = frozenset({"items", "messages"})
_FILTERS = frozenset({"filter", "filters", "where"})


def compose_names(data: Any) -> Any:
    """Return the body or query string `data` with its names and filters in NFC. Texts and metadata are not changed."""
    if not isinstance(data, Mapping):
        return data
    return {key: _compose_field(key, value) for key, value in data.items()}


def _compose_field(key: Any, value: Any) -> Any:
    if key in NAMES or key in _FILTERS:
        return _compose_all(value)
    if key in _LISTS and isinstance(value, list):
        return [compose_names(item) for item in value]
    return value


def _compose_all(value: Any) -> Any:
    if isinstance(value, str):
        return compose_name(value)
    if isinstance(value, list):
        return [_compose_all(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _compose_all(item) for key, item in value.items()}
    return value
