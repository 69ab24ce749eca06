"""Saves and restores the slots of a llama.cpp server over its own HTTP interface.

A slot has the keys and values of the last prompt that it read. llama.cpp compares the tokens of the next prompt with
them and computes only the difference. A restored slot thus makes an answer faster and never different, provided that
the same model wrote the file. The server doesn't check that, so `describe` hashes what keys and values depend on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memory.errors import LLMRefused, LLMUnavailable

# Timeout of requests that need no computing, though the server first finishes the batch that it is working on.
LOOK_SECONDS = 5.0
# Timeout for a file of some gigabytes on a disk.
FILE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class LlamaSlot:
    """A slot of the server; `task` is the number of the call that used it last, -1 for none."""

    number: int
    is_busy: bool
    task: int


@dataclass(frozen=True, slots=True)
class SlotFile:
    """A file that was written or read, with the `tokens` of the prompt and its size in `bytes`."""

    tokens: int
    bytes: int


class LlamaSlots:
    """A llama.cpp server; `base_url` is its OpenAI-compatible address.

    Every method raises LLMUnavailable if the server doesn't answer, and LLMRefused if it refuses.
    """

    def __init__(self, base_url: str) -> None:
        self.address = base_url.rstrip("/").removesuffix("/v1")

    def describe(self) -> str:
        """Return a hash of all that keys and values depend on, as far as the server tells.

        That is the model's file, sizes and template, its adapters and the build. The hash hides the path and name,
        which are the operator's.
        """
        properties = self._get("/props")
        models = self._get("/v1/models").get("data") or [{}]
        said = {
            "path": properties.get("model_path"),
            "template": properties.get("chat_template"),
            "build": properties.get("build_info"),
            "bos": properties.get("bos_token"),
            "model": {name: value for name, value in (models[0].get("meta") or {}).items() if name != "n_ctx"},
            "adapters": self._get("/lora-adapters"),
        }
        return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def list_slots(self) -> list[LlamaSlot]:
        """Return the server's slots."""
        return [
            LlamaSlot(int(one["id"]), bool(one["is_processing"]), int(one.get("id_task", -1)))
            for one in self._get("/slots")
        ]

    def write_prompt(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return the prompt that the model's template makes of the messages."""
        return str(self._post("/apply-template", {"messages": list(messages)}, LOOK_SECONDS)["prompt"])

    def count_tokens(self, prompt: str) -> list[int]:
        """Return the tokens that the model reads for a prompt."""
        body = {"content": prompt, "add_special": True, "parse_special": True}
        return [int(token) for token in self._post("/tokenize", body, LOOK_SECONDS)["tokens"]]

    def read_prompt(self, prompt: str, *, slot: int, seconds: float) -> int:
        """Make a slot compute a whole prompt again in one pass, without generating; return the number of its tokens."""
        self._post(f"/slots/{slot}?action=erase", {}, LOOK_SECONDS)
        body = {"prompt": prompt, "n_predict": 0, "cache_prompt": False, "n_cache_reuse": 0, "id_slot": slot}
        return int(self._post("/completion", body, seconds)["tokens_evaluated"])

    def save(self, slot: int, name: str) -> SlotFile:
        """Write the content of the slot to the file `name` in the server's own folder."""
        done = self._post(f"/slots/{slot}?action=save", {"filename": name}, FILE_SECONDS)
        return SlotFile(int(done["n_saved"]), int(done["n_written"]))

    def restore(self, slot: int, name: str) -> SlotFile:
        """Load the file `name` from the server's own folder into the slot."""
        done = self._post(f"/slots/{slot}?action=restore", {"filename": name}, FILE_SECONDS)
        return SlotFile(int(done["n_restored"]), int(done["n_read"]))

    def erase(self, slot: int) -> None:
        """Empty the slot."""
        self._post(f"/slots/{slot}?action=erase", {}, LOOK_SECONDS)

    def _get(self, path: str) -> Any:
        return self._send("GET", path, None, LOOK_SECONDS)

    def _post(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        return self._send("POST", path, body, seconds)

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float) -> Any:
        import httpx2  # noqa: PLC0415 - imported on first use

        route = path.partition("?")[0]
        try:
            answer = httpx2.request(method, self.address + path, json=body, timeout=seconds)
            if answer.status_code < 400:
                return orjson.loads(answer.content)
        except (httpx2.HTTPError, orjson.JSONDecodeError) as error:
            raise LLMUnavailable(
                f"llama.cpp's server does not answer {route} within {seconds:g} s ({type(error).__name__}): check that "
                "it runs, and MEMOS_LLAMACPP_BASE_URL (or MEMOS_LLM_BASE_URL).",
                retry_after=5,
            ) from error
        if answer.status_code in (404, 501):
            raise LLMRefused(
                f"llama.cpp's server has no {route} ({answer.status_code}): start it with --slots and with "
                "--slot-save-path, which names the folder of MEMOS_ACTIVATION_DIR."
            )
        raise LLMRefused(f"llama.cpp's server refuses {route} ({answer.status_code}).")
