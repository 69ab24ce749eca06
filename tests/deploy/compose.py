"""Reads Compose files as `docker compose` does, without an engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "docker-compose.yml"
PANEL = ROOT / "docker-compose.1panel.yml"
# The file that is merged over MAIN for development.
DEV = ROOT / "docker-compose.dev.yml"
FILES = (MAIN, PANEL)

# `$$`, `${NAME}`, `${NAME:-default}`. Any other use of `$` matches with every group empty, and is refused.
_VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}$]*))?\}|)")


def load(path: Path, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the file with its variables filled in from `environment` or their defaults."""
    return _interpolate(yaml.safe_load(path.read_text(encoding="utf-8")), environment or {})


def variables(path: Path) -> set[str]:
    """Return the names of the variables in the file."""
    return {match["name"] for text in _texts(_parsed(path)) for match in _VARIABLE.finditer(text) if match["name"]}


def texts(path: Path) -> list[str]:
    """Return every key and value as it is written."""
    return _texts(_parsed(path))


def services(path: Path) -> dict[str, dict[str, Any]]:
    return load(path)["services"]


def environment(service: dict[str, Any]) -> dict[str, str | None]:
    """None stands for a variable that is passed through if it is set outside."""
    return service.get("environment") or {}


def mounts(service: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (source, target, mode) of each mount."""
    split = [mount.split(":") for mount in service.get("volumes", [])]
    return [(parts[0], parts[1], parts[2] if len(parts) > 2 else "rw") for parts in split]


def _parsed(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _texts(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for key, value in node.items() for text in (*_texts(key), *_texts(value))]
    if isinstance(node, list):
        return [text for value in node for text in _texts(value)]
    return [node] if isinstance(node, str) else []


def _interpolate(node: Any, environment: dict[str, str]) -> Any:
    if isinstance(node, dict):
        return {key: _interpolate(value, environment) for key, value in node.items()}
    if isinstance(node, list):
        return [_interpolate(value, environment) for value in node]
    if isinstance(node, str):
        return _VARIABLE.sub(lambda match: _value(match, environment), node)
    return node


def _value(match: re.Match[str], environment: dict[str, str]) -> str:
    if match["dollar"]:
        return "$"
    if not match["name"]:
        raise ValueError(f"neither a variable nor an escaped dollar: {match.string!r}")
    return environment.get(match["name"]) or match["default"] or ""
