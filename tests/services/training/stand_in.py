"""Stand-ins for the heavy parts: a trainer without torch, and a model server without models.

Both are real programs: MemOS starts the trainer like the real one, and the server has vLLM's routes over HTTP. Neither
imports MemOS.
"""

from __future__ import annotations

import contextlib
import json
import struct
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PASSES = {
    "recall": 1.0,
    "paraphrases": 0.9,
    "refusals": 0.875,
    "loss_facts": [6.2, 0.02],
    "loss_general": [3.1, 3.15],
}
_PROGRAM = """#!{python}
import json, os, sys, time
from pathlib import Path
here = Path({here!r})
if sys.argv[1:] == ["-P", "-m", "memory.trainer", "--check"]:
    print(json.dumps({{"missing": json.loads((here / "missing").read_text())}}))
    sys.exit(0)
folder = Path(sys.argv[4])
(here / "environment").write_text(json.dumps(dict(os.environ)))
(here / "request").write_text((folder / "request.json").read_text())
(here / "sft").write_text((folder / "sft.jsonl").read_text())
print("a library says hello")
print(json.dumps({{"done": 1, "total": 2}}), flush=True)
while (here / "wait").exists():
    time.sleep(0.05)
exec((here / "act").read_text())
"""
_ACT = """
adapter = folder / "adapter"
adapter.mkdir()
header = json.dumps({"a.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
(adapter / "adapter_model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"12345678")
(adapter / "adapter_config.json").write_text(json.dumps(
    {"peft_type": "LORA", "r": json.loads((folder / "request.json").read_text())["rank"]}
))
(folder / "result.json").write_text(json.dumps({
    "base_sha256": "ab" * 32, "metrics": json.loads((here / "metrics").read_text()), "seconds": 1.5, "peak_bytes": 9,
}))
"""


@dataclass
class StandInTrainer:
    """A program in place of the trainer's Python; a test writes into `here` what the program does."""

    here: Path
    program: Path

    def measure(self, **metrics: Any) -> None:
        """Set the metrics that it reports."""
        (self.here / "metrics").write_text(json.dumps(PASSES | metrics))

    def lack(self, *packages: str) -> None:
        """Set the packages that it reports as missing."""
        (self.here / "missing").write_text(json.dumps(packages))

    def act(self, code: str) -> None:
        """Set Python code to run instead of training, with `folder` and `here`."""
        (self.here / "act").write_text(code)

    def saw(self, name: str) -> Any:
        """Return what it was given: environment, request, sft."""
        return (self.here / name).read_text()


def stand_in_trainer(here: Path) -> StandInTrainer:
    """Return a trainer that makes an adapter of eight bytes, which passes the checks."""
    program = here / "python"
    program.write_text(_PROGRAM.format(python=sys.executable, here=str(here)))
    program.chmod(0o700)
    trainer = StandInTrainer(here, program)
    trainer.measure()
    trainer.lack()
    trainer.act(_ACT)
    return trainer


@dataclass
class ModelServer:
    """A server that speaks vLLM's routes for adapters, with the statuses and bodies of vLLM 0.32.0.

    `loaded` is model name to folder; `fails` answers 500; `has_routes` is VLLM_ALLOW_RUNTIME_LORA_UPDATING, `has_lora`
    --enable-lora, `max_rank` --max-lora-rank, `key` --api-key, `has_roots` whether it says which folder a model is of.
    """

    url: str
    loaded: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    fails: bool = False
    has_routes: bool = True
    has_lora: bool = True
    has_roots: bool = True
    max_rank: int = 16
    key: str | None = None

    def list_models(self) -> list[dict[str, Any]]:
        """Return the models of /v1/models: the base model and each adapter."""
        cards = [{"id": "base", "object": "model", "root": "/models/base", "parent": None}]
        cards += [{"id": name, "object": "model", "root": at, "parent": "base"} for name, at in self.loaded.items()]
        return cards if self.has_roots else [{"id": card["id"], "object": "model"} for card in cards]

    def load(self, name: str, path: str) -> tuple[int, str | None]:
        """Load an adapter; return the status and the error."""
        if name in self.loaded:
            return 400, (
                f"The lora adapter '{name}' has already been loaded. If you want to load the adapter in place, set "
                "'load_inplace' to True."
            )
        if not self.has_lora:
            return 500, _in_worker("LoRA is not enabled. Use --enable-lora to enable LoRA.")
        try:
            rank = json.loads(Path(path, "adapter_config.json").read_bytes())["r"]
            weights = Path(path, "adapter_model.safetensors").read_bytes()
        except FileNotFoundError:
            return 404, f"Loading lora {name} failed: No adapter found for {path}"
        if rank > self.max_rank:
            return 500, _in_worker(f"LoRA rank {rank} is greater than max_lora_rank {self.max_rank}.")
        (length,) = struct.unpack("<Q", weights[:8])
        json.loads(weights[8 : 8 + length])
        self.loaded[name] = path
        return 200, None

    def unload(self, name: str) -> tuple[int, str | None]:
        """Unload an adapter; return the status and the error."""
        if self.loaded.pop(name, None) is None:
            return 404, f"The lora adapter '{name}' cannot be found."
        return 200, None


def _in_worker(message: str) -> str:
    return (
        f"Call to add_lora method failed: Worker failed with error '{message}', please check the stack trace above for "
        "the root cause"
    )


_TYPES = {400: "InvalidUserInput", 404: "NotFoundError", 500: "InternalServerError"}


@contextlib.contextmanager
def serve_models() -> Iterator[ModelServer]:
    """Start such a server on loopback, with a base model."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self._may():
                self._answer(200, {"object": "list", "data": server.list_models()})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self._may():
                return
            if not server.has_routes or self.path not in ("/v1/load_lora_adapter", "/v1/unload_lora_adapter"):
                self._answer(404, {"detail": "Not Found"})
                return
            if server.fails:
                status, problem = 500, "out of memory"
            elif self.path == "/v1/load_lora_adapter":
                status, problem = server.load(body["lora_name"], body["lora_path"])
            else:
                status, problem = server.unload(body["lora_name"])
            if problem is None:
                done = "added" if self.path == "/v1/load_lora_adapter" else "removed"
                self._send(status, f"Success: LoRA adapter '{body['lora_name']}' {done} successfully.".encode())
                return
            error = {"message": problem, "type": _TYPES[status], "param": None, "code": status}
            self._answer(status, {"error": error})

        def _may(self) -> bool:
            server.asked.append((self.command, self.path, dict(self.headers)))
            if server.key in (None, self.headers.get("Authorization", "").removeprefix("Bearer ")):
                return True
            self._answer(401, {"error": "Unauthorized"})
            return False

        def _answer(self, status: int, body: Any) -> None:
            self._send(status, json.dumps(body).encode())

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = ModelServer(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
