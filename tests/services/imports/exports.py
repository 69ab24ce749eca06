"""Made-up exports in the formats of ChatGPT, Claude and Gemini."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import orjson


def chatgpt(identity: str = "c1", **changes: Any) -> dict[str, Any]:
    """Return a conversation whose second answer replaced the first, with a tool's turns and a hidden turn."""
    nodes = {
        "root": node(None, None),
        "hidden": node("root", said("system", ["You are ChatGPT."], None)),
        "n1": node("hidden", said("user", ["I get sick on planes."], 1719830001.0)),
        "n2": node("n1", said("assistant", ["Fly at night."], 1719830002.0)),
        "call": node("n1", {**said("assistant", ["search(trains)"], 1719830002.5), "recipient": "web"}),
        "found": node("call", said("tool", ["A page about trains."], 1719830002.7)),
        "n3": node("found", said("assistant", ["Then take the train.", {"content_type": "image_asset_pointer"}], None)),
        "n4": node("n3", said("user", ["Gladly."], 1719830004.0)),
    }
    for name, entry in nodes.items():
        entry["id"] = name
        if entry["message"]:
            entry["message"]["id"] = f"{identity}-{name}"
        entry["children"] = [other for other, one in nodes.items() if one["parent"] == name]
    return {
        "title": "Trip",
        "create_time": 1719830000.0,
        "update_time": 1719830100.0,
        "conversation_id": identity,
        "id": identity,
        "current_node": "n4",
        "mapping": nodes,
        **changes,
    }


def node(parent: str | None, message: dict[str, Any] | None) -> dict[str, Any]:
    return {"parent": parent, "message": message}


def said(role: str, parts: list[Any], at: float | None) -> dict[str, Any]:
    return {
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": parts},
        "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
    }


def claude(identity: str = "u1") -> dict[str, Any]:
    return {
        "uuid": identity,
        "name": "Trip",
        "created_at": "2026-01-02T03:04:05.000000Z",
        "updated_at": "2026-01-02T03:05:05.000000Z",
        "account": {"uuid": "a"},
        "chat_messages": [
            {
                "uuid": f"{identity}-1",
                "text": "I get sick on planes.",
                "content": [{"type": "text", "text": "I get sick on planes."}],
                "sender": "human",
                "created_at": "2026-01-02T03:04:06.000000Z",
                "attachments": [],
                "files": [],
            },
            {
                "uuid": f"{identity}-2",
                "text": "",
                "content": [
                    {"type": "thinking", "thinking": "They want no plane."},
                    {"type": "text", "text": "Then take the train."},
                ],
                "sender": "assistant",
                "created_at": "2026-01-02T03:04:09.000000Z",
                "attachments": [],
                "files": [{"file_name": "map.png"}],
            },
        ],
    }


def gemini() -> list[dict[str, Any]]:
    """Return activities newest first, as Takeout lists them."""
    return [
        {
            "header": "Gemini Apps",
            "title": "Prompted",
            "titleUrl": "https://gemini.google.com/c/abc123",
            "time": "2026-02-03T10:00:00.000Z",
            "products": ["Gemini Apps"],
            "details": [{"name": "Request", "value": "Where is Lyon?"}, {"name": "Response", "value": "In France."}],
        },
        {
            "header": "Gemini Apps",
            "title": "Prompted",
            "time": "2026-02-02T10:00:00.000Z",
            "userInteractions": [{"userInteraction": {"request": "I live in Graz.", "response": "Noted."}}],
        },
    ]


GEMINI_PAGE = (
    '<html><body><div class="outer-cell mdl-cell"><p>Gemini Apps</p><div class="content-cell mdl-typography--body-1">'
    "Prompted I live in Graz.<br>Feb 17, 2026, 3:08:20 PM UTC<br><p>Noted.</p></div></div></body></html>"
)


def write(folder: Path, content: Any, name: str = "export.json") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return path


def archive(members: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content if isinstance(content, bytes) else orjson.dumps(content))
    return file.getvalue()
