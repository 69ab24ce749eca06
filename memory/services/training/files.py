"""Manages an adapter's two files, safetensors and JSON, whose hashes are compared at each use."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import uuid
from pathlib import Path
from typing import Any

from django.conf import settings

from memory.errors import Conflict
from memory.models import Adapter

WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
# A file of safetensors begins with eight bytes of length, then a header in JSON. No adapter has a larger header.
_MAX_HEADER = 16 * 1024 * 1024
_MAX_CONFIG = 64 * 1024
_CHUNK = 1024 * 1024
# A model server reads an adapter's configuration, which must not name classes to import.
_FORBIDDEN = ("auto_mapping", "parent_library")


class AdapterDamaged(Conflict):
    """The files are not the trained ones."""


def folder_of(adapter: Adapter) -> Path:
    """Return the folder of its files; a model server reads the same folder."""
    return _root() / str(adapter.namespace_id) / adapter.id.hex


def work_folder(adapter_id: uuid.UUID) -> Path:
    """Return the folder in which it is trained, which contains the data set's texts and is deleted afterwards."""
    return _root() / ".work" / adapter_id.hex


def _root() -> Path:
    """Return the folder of all adapters as an absolute path: vLLM takes a relative path for a name at a model hub."""
    return Path(settings.MEMOS_ADAPTERS_DIR).expanduser().absolute()


def inspect(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the two files of an adapter with `sha256` and `bytes`. Raises AdapterDamaged for any other file."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError as error:
        raise _describe_damage(f"its folder cannot be read ({error.strerror})") from error
    if names != sorted((WEIGHTS, CONFIG)):
        other = next((name for name in names if name not in (WEIGHTS, CONFIG)), "")
        raise _describe_damage(
            f"its folder holds {other!r}, and nothing but {CONFIG} and {WEIGHTS} is read: no pickles, no code"
            if other
            else f"it lacks {CONFIG} or {WEIGHTS}"
        )
    found = {name: _hash(folder / name) for name in names}
    _check_weights(folder / WEIGHTS)
    _check_config(folder / CONFIG)
    return found


def check_files(adapter: Adapter) -> Path:
    """Return the folder if its files are the trained ones, byte for byte. Raises AdapterDamaged, Conflict."""
    if not adapter.files:
        raise Conflict("The adapter's files are not there any more: train it anew.", detail={"field": "id"})
    folder = folder_of(adapter)
    if inspect(folder) != adapter.files:
        raise _describe_damage("a file is not the one that was trained (its SHA-256 is another)")
    return folder


def take_in(source: Path, adapter: Adapter) -> dict[str, dict[str, Any]]:
    """Move the trained files to their final folder; return their descriptions. Raises AdapterDamaged."""
    found = inspect(source)
    target = folder_of(adapter)
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    source.rename(target)
    return found


def has_files(adapter: Adapter) -> bool:
    """Return whether any of its files are on disk."""
    return folder_of(adapter).exists() or work_folder(adapter.id).exists()


def remove_files(adapter: Adapter) -> None:
    """Delete its files, and those of an interrupted training. Raises OSError."""
    for folder in (folder_of(adapter), work_folder(adapter.id)):
        if folder.exists():
            shutil.rmtree(folder)


def _hash(path: Path) -> dict[str, Any]:
    try:
        # Open neither a link nor a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _describe_damage(f"{path.name} cannot be read ({error.strerror})") from error
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _describe_damage(f"{path.name} is no plain file")
        digest, size = hashlib.sha256(), 0
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return {"sha256": digest.hexdigest(), "bytes": size}


def _check_weights(path: Path) -> None:
    """Raise AdapterDamaged for a file that is not of safetensors: its header must describe all of it."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or not 2 <= length <= min(_MAX_HEADER, size - 8):
            raise _describe_damage(f"{path.name} is no file of safetensors")
        try:
            header = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise _describe_damage(f"{path.name} is no file of safetensors") from None
    if not ends or not all(isinstance(end, int) for end in ends) or max(ends) != size - 8 - length:
        raise _describe_damage(f"{path.name} is cut off, or has more than its header says")


def _check_config(path: Path) -> None:
    try:
        if path.stat().st_size > _MAX_CONFIG:
            raise ValueError
        config = json.loads(path.read_bytes())
        wrong = not isinstance(config, dict) or config.get("peft_type") != "LORA"
    except (ValueError, RecursionError):
        wrong = True
    if wrong:
        raise _describe_damage(f"{path.name} is no configuration of a LoRA adapter")
    if named := next((name for name in _FORBIDDEN if config.get(name)), None):
        raise _describe_damage(f"{path.name} names code to run ({named})")


def _describe_damage(what: str) -> AdapterDamaged:
    return AdapterDamaged(f"The adapter is not used: {what}. Train it anew.", detail={"field": "id"})
