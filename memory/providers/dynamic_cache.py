"""Computes and reuses the keys and values of a prompt's beginning, stored as safetensors (transformers, optional).

The file contains the tokens that it was made of, and only serves prompts that begin with them. Caches that were
computed separately are never joined, because each was computed without what precedes it, and the answers would differ.
Nothing is unpickled: weights are read from safetensors or GGUF, caches from safetensors.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from memory.errors import Conflict, InvalidInput

REQUIREMENTS = "requirements-activation.txt"
_TOKENS = "tokens"
_HASHED_BYTES = 1024 * 1024
# Our own files never have a larger header.
_MOST_HEADER_BYTES = 16 * 1024 * 1024
# Files in a model's folder, besides the weights, that its keys and values depend on.
_DESCRIPTIONS = ("config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "tokenizer.model")


def missing_package() -> str:
    """Return the first package of the extra that isn't installed, or ""."""
    packages = ("torch", "transformers", "safetensors")
    return next((name for name in packages if importlib.util.find_spec(name) is None), "")


@dataclass(frozen=True, slots=True)
class SavedCache:
    """A written file with its number of `tokens` and of `bytes`."""

    tokens: int
    bytes: int


class CausalModel:
    """A causal language model on this disk in single precision: a folder with safetensors, or a GGUF file.

    Raise `Conflict` if it doesn't exist or the extra isn't installed.
    """

    def __init__(self, path: str) -> None:
        if missing := missing_package():
            raise Conflict(
                f"Caches of the engine `transformers` need {missing}, which is not installed: pip install -r "
                f"{REQUIREMENTS}, for the worker."
            )
        self.path = Path(path)
        if not self.path.exists():
            raise Conflict("MEMOS_ACTIVATION_MODEL names no folder and no file: put the model there, or change it.")

    @property
    def name(self) -> str:
        """The name of its folder or file, without the path."""
        return self.path.stem if self.path.is_file() else self.path.name

    @cached_property
    def sha256(self) -> str:
        """A hash of its weights and of the files that describe how to use them."""
        digest = hashlib.sha256()
        for file in self._files():
            digest.update(file.name.encode() + b"\0")
            with file.open("rb") as stream:
                while part := stream.read(_HASHED_BYTES):
                    digest.update(part)
        return digest.hexdigest()

    def write_prompt(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return the prompt that the model's template makes of the messages, or their contents without a template."""
        if self.tokenizer.chat_template is None:
            return "\n".join(message["content"] for message in messages)
        return str(self.tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))

    def count_tokens(self, prompt: str) -> list[int]:
        """Return the tokens that the model reads for a prompt."""
        return list(self.tokenizer(prompt, add_special_tokens=self.tokenizer.chat_template is None).input_ids)

    def save(self, prompt: str, path: Path) -> SavedCache:
        """Compute a whole prompt in one pass, and write its keys and values to `path` atomically."""
        import torch  # noqa: PLC0415 - takes seconds to import
        from safetensors.torch import save_file  # noqa: PLC0415 - as above

        tokens = self.count_tokens(prompt)
        with torch.no_grad():
            cache = self.model(torch.tensor([tokens]), use_cache=True).past_key_values
        tensors = {_TOKENS: torch.tensor(tokens, dtype=torch.int32)}
        for number, layer in enumerate(cache.layers):
            tensors[f"{number}.keys"] = layer.keys.contiguous()
            tensors[f"{number}.values"] = layer.values.contiguous()
        part = path.with_suffix(".part")
        try:
            save_file(tensors, part, metadata={"model": self.name, "model_sha256": self.sha256})
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return SavedCache(len(tokens), path.stat().st_size)

    def read_on(self, path: Path, prompt: str) -> Any:
        """Return the logits of what follows the cache at `path` in the prompt, as a tensor with one row per token.

        Raise `InvalidInput` for a cache of another model, or if the prompt doesn't begin with its tokens and go on.
        """
        import torch  # noqa: PLC0415 - takes seconds to import
        from safetensors.torch import load_file  # noqa: PLC0415 - as above
        from transformers import DynamicCache  # noqa: PLC0415 - as above

        if read_header(path).get("model_sha256") != self.sha256:
            raise InvalidInput(f"The cache {path.name} was computed by another model: build it with this one.")
        tensors = load_file(path)
        before, tokens = tensors[_TOKENS].tolist(), self.count_tokens(prompt)
        if tokens[: len(before)] != before or len(tokens) == len(before):
            raise InvalidInput(
                f"The prompt does not go on behind the {len(before)} tokens that the cache {path.name} was made of: it "
                "serves no other beginning, and caches are not joined."
            )
        cache = DynamicCache()
        for number in range(self.model.config.num_hidden_layers):
            cache.update(tensors[f"{number}.keys"], tensors[f"{number}.values"], number)
        with torch.no_grad():
            return self.model(torch.tensor([tokens[len(before) :]]), past_key_values=cache, use_cache=True).logits[0]

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds to import

        return AutoTokenizer.from_pretrained(self._folder, **self._options)

    @cached_property
    def model(self) -> Any:
        """The model of transformers, in single precision."""
        import torch  # noqa: PLC0415 - takes seconds to import
        from transformers import AutoModelForCausalLM  # noqa: PLC0415 - as above

        safe = {} if self.path.is_file() else {"use_safetensors": True}
        options = {**self._options, **safe}
        return AutoModelForCausalLM.from_pretrained(self._folder, dtype=torch.float32, **options).eval()

    @property
    def _folder(self) -> str:
        return str(self.path.parent if self.path.is_file() else self.path)

    @property
    def _options(self) -> dict[str, Any]:
        """Options for loading that download nothing and don't run the model's own code."""
        options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        return {**options, "gguf_file": self.path.name} if self.path.is_file() else options

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        weights = sorted(self.path.glob("*.safetensors"))
        if not weights:
            raise Conflict(
                "The folder of MEMOS_ACTIVATION_MODEL has no .safetensors; weights of other kinds are not read."
            )
        return [*weights, *(self.path / name for name in _DESCRIPTIONS if (self.path / name).is_file())]


def read_header(path: Path) -> dict[str, str]:
    """Return the metadata of a cache file (`model`, `model_sha256`). Raise `InvalidInput` if it isn't safetensors."""
    with path.open("rb") as stream:
        head = stream.read(8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        try:
            if not 2 <= size <= _MOST_HEADER_BYTES:
                raise ValueError("no header")
            said = orjson.loads(stream.read(size))
            return {str(name): str(value) for name, value in said.get("__metadata__", {}).items()}
        except (ValueError, AttributeError) as error:
            raise InvalidInput(f"{path.name} is no file in safetensors.") from error
