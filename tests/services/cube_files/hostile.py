"""Cube files made by hand, intact or with one fault."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from memory import ledger
from memory.services.cube_files import manifest as manifests
from memory.services.cube_files.manifest import Manifest, PartSummary

ID = "019b0000-0000-7000-8000-00000000000{}"
AT = "2026-03-01T12:00:00+00:00"


def memory_line(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a memory's line as a dump writes it."""
    return {
        "id": ID.format(number), "session": "s1", "turn": number, "role": "user", "speaker": "Ada",
        "text": f"I keep {number} bees behind the house in Porto.", "context": "", "metadata": {}, "importance": 0.5,
        "tier": "L2", "state": "active", "occurred_at": AT, "created_at": AT, "valid_from": None, "valid_to": None,
        "superseded_by": None, "superseded_at": None, "retired_spans": [], "pinned": False, "review": "",
        "revision": 1, "settled": True, **fields,
    }  # fmt: skip


def make(
    parts: Mapping[str, list[dict[str, Any]]] | None = None,
    *,
    signed: bool = True,
    manifest: Mapping[str, Any] | None = None,
    data: Mapping[str, bytes] | None = None,
    extra: Mapping[str, bytes] | None = None,
) -> bytes:
    """Make a file with these parts; `manifest` changes fields before signing, `data` members after the file is made."""
    parts = {"memories": [memory_line()]} if parts is None else parts
    members = {name: b"".join(orjson.dumps(line) + b"\n" for line in own) for name, own in parts.items()}
    summaries = {
        name: PartSummary(raw.count(b"\n"), len(raw), hashlib.sha256(raw).hexdigest()) for name, raw in members.items()
    }
    whole = replace(
        Manifest(
            server=ledger.secret_mark(), namespace_id=10**9, namespace="elsewhere", written_at=AT, parts=summaries
        ),
        **(manifest or {}),
    )
    sealed = manifests.seal(whole)
    if not signed:
        sealed = orjson.dumps({"manifest": asdict(whole), "signature": {}})
    return zipped(
        {
            **{f"{name}.jsonl": (data or {}).get(name, raw) for name, raw in members.items()},
            "manifest.json": sealed,
            **(extra or {}),
        }
    )


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Make a zip of these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def write(folder: Path, content: bytes) -> Path:
    """Write the file into a folder."""
    path = folder / "cube"
    path.write_bytes(content)
    return path
