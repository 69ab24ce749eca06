"""Loads a base model from disk: a folder in the layout of transformers (safetensors), or a GGUF file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CHUNK = 4 * 1024 * 1024
# Older formats are pickles, which run code when they are opened.
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


class TrainerProblem(Exception):
    """Raised if nothing can be trained; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A model with its tokenizer; `sha256` is the hash of its weights, which adapters trained on it are bound to."""

    model: Any
    tokenizer: Any
    sha256: str


def load(path: Path) -> BaseModel:
    """Load it in 32 bits, without downloading or running code of the model. Raise TrainerProblem if that fails."""
    import torch  # noqa: PLC0415 - takes seconds to import
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    files = list_weights(path)
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    place = path
    if path.is_file():
        place, options["gguf_file"] = path.parent, path.name
    else:
        options["use_safetensors"] = True
    tokenizer = AutoTokenizer.from_pretrained(
        place, **{name: value for name, value in options.items() if name != "use_safetensors"}
    )
    if not tokenizer.chat_template:
        raise TrainerProblem("The base model has no chat template: choose one that was made for conversations.")
    model = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **options)
    return BaseModel(model, tokenizer, hash_weights(files))


def list_weights(path: Path) -> list[Path]:
    """Return the files with the weights, sorted by name. Raise TrainerProblem if there are none, or only pickles."""
    if path.is_file():
        if path.suffix != ".gguf":
            raise TrainerProblem(f"{path.name} is no GGUF file; name a folder, or a file that ends in .gguf.")
        return [path]
    if not path.is_dir():
        raise TrainerProblem(f"There is no base model at {path}: MEMOS_ADAPTER_BASE_MODEL is a folder or a GGUF file.")
    files = sorted(path.glob("*.safetensors"))
    if not files:
        pickles = sorted(one.name for one in path.iterdir() if one.suffix in _PICKLES)
        why = f" {pickles[0]} is a pickle, which is not opened: convert it." if pickles else ""
        raise TrainerProblem(f"The folder {path} has no *.safetensors.{why}")
    return files


def hash_weights(files: list[Path]) -> str:
    """Return the SHA-256 of a single file, or else of the names and hashes of all."""
    hashes = {file.name: _hash(file) for file in files}
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    return hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in sorted(hashes.items())).encode()).hexdigest()


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
