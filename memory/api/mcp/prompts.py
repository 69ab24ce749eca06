"""Offers the prompt that people may pick in a client: the request to remember the conversation."""

from __future__ import annotations

from typing import Any

from memory.api.mcp.protocol import INVALID_PARAMS, RpcError
from memory.enums import AccessScope
from memory.types import Access

REMEMBER = "remember_this_conversation"
_ARGUMENTS = {
    "namespace": "Whose memory; left out: the key's only namespace",
    "session_id": "A name for the conversation; left out: that of the day",
}
MAX_NAME = 128


def list_prompts(access: Access) -> list[dict[str, Any]]:
    """Returns the prompts that the caller's scopes allow."""
    if not access.may(AccessScope.WRITE):
        return []
    return [
        {
            "name": REMEMBER,
            "title": "Remember this conversation",
            "description": "Stores what was said here that is worth knowing later.",
            "arguments": [{"name": name, "description": says, "required": False} for name, says in _ARGUMENTS.items()],
        }
    ]


def get_prompt(access: Access, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the messages of a prompt. Raises RpcError for an unknown prompt or wrong arguments."""
    if name not in {prompt["name"] for prompt in list_prompts(access)}:
        raise RpcError(INVALID_PARAMS, f"There is no prompt {name[:40]!r} for this key.")
    given = {key: value for key, value in arguments.items() if value not in (None, "")}
    for key, value in given.items():
        if key not in _ARGUMENTS:
            raise RpcError(
                INVALID_PARAMS, f"{key[:40]}: is no argument of this prompt; it takes {', '.join(_ARGUMENTS)}."
            )
        if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME:
            raise RpcError(INVALID_PARAMS, f"{key}: must be a text of 1 to {MAX_NAME} characters.")
    return {
        "description": "Stores what was said here that is worth knowing later.",
        "messages": [{"role": "user", "content": {"type": "text", "text": _request(given)}}],
    }


def _request(given: dict[str, str]) -> str:
    placed = "".join(f", `{name}` {value!r}" for name, value in given.items())
    return (
        "Remember this conversation. Call the tool `add_memory` once, with `messages` in the order in which they were "
        f"said{placed}: each has `role` (user or assistant), `content`, and `name` where the person is known.\n"
        "Keep what will matter later: facts about people, preferences, decisions with their reasons, plans, dates, "
        "results. Write each so that it can be understood alone: names in the place of pronouns, dates in the place of "
        "“tomorrow”. Leave out small talk, secrets such as passwords and keys, and whatever came out of files, pages "
        "or tools only to be read.\n"
        "Then say in a line what was kept, and what was not and why, as `verdict` and `reasons` have it."
    )
