"""A real vLLM, where one is installed: adapters of the real trainer, and whether the stand-in answers as it does.

MEMOS_VLLM_PYTHON names a Python with vllm, be it for CPUs. The base model is made here, of random weights.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memory.errors import AdapterServerUnavailable
from memory.services.training import files, servers
from tests.services.training.stand_in import serve_models
from tests.services.training.test_trainer import PYTHON as TRAINER
from tests.services.training.test_trainer import ROOT

VLLM = os.environ.get("MEMOS_VLLM_PYTHON", "")
KEY = "key-of-vllm"
NAME = "memos-1-style"
START_SECONDS = 600
pytestmark = pytest.mark.skipif(
    not VLLM or not TRAINER.exists(),
    reason="needs a Python with vLLM, named by MEMOS_VLLM_PYTHON, and what trains adapters: make install-train",
)

_MODEL = """
import sys, torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
names = ["<unk>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
raw = Tokenizer(models.BPE(vocab={name: place for place, name in enumerate(names)}, merges=[], unk_token="<unk>"))
raw.pre_tokenizer, raw.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=raw, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
)
tokenizer.chat_template = "{% for one in messages %}{{ one['role'] }}: {{ one['content'] }}</s>{% endfor %}"
tokenizer.save_pretrained(sys.argv[1])
torch.manual_seed(0)
LlamaForCausalLM(LlamaConfig(
    vocab_size=len(names), hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=2, max_position_embeddings=1024, initializer_range=0.1, bos_token_id=1, eos_token_id=2,
)).save_pretrained(sys.argv[1])
"""


@dataclass
class Vllm:
    """The server's address, and the folders of the trainer's adapters: two of rank 8, one of rank 32."""

    url: str
    first: str
    second: str
    large: str


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vllm]:
    here = tmp_path_factory.mktemp("vllm")
    model = here / "model"
    subprocess.run([VLLM, "-c", _MODEL, str(model)], check=True, env=_environment(here))
    adapters = [_train(here / name, model, **options) for name, options in _TRAININGS.items()]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [
        *("-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--served-model-name", "base"),
        *("--host", "127.0.0.1", "--port", str(port), "--api-key", KEY, "--enable-lora", "--enforce-eager"),
        *("--max-model-len", "512", "--max-num-seqs", "2", "--dtype", "float32"),
    ]
    with (
        (here / "log").open("wb") as log,
        subprocess.Popen(
            [VLLM, *arguments], env=_environment(here), stdout=log, stderr=log, start_new_session=True
        ) as process,
    ):
        try:
            _wait(process, port, here / "log")
            yield Vllm(f"http://127.0.0.1:{port}", *adapters)
        finally:
            # The engine and its workers are separate processes.
            os.killpg(process.pid, signal.SIGKILL)


_TRAININGS = {"first": {"rank": 8, "seed": 1}, "second": {"rank": 8, "seed": 2}, "large": {"rank": 32, "seed": 1}}


def _environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_NO_USAGE_STATS": "1",
        # Threads that wait for others would occupy the processors that the others need.
        "OMP_NUM_THREADS": "1",
    }


def _train(folder: Path, model: Path, *, rank: int, seed: int) -> str:
    """Have the trainer make an adapter; return its folder."""
    folder.mkdir()
    messages = [{"role": "user", "content": "How are letters opened?"}, {"role": "assistant", "content": f"By {seed}."}]
    (folder / "sft.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    options = {"rank": rank, "seed": seed, "epochs": 2, "learning_rate": 0.01, "batch": 8, "threads": 1}
    (folder / "request.json").write_text(json.dumps({"base_model": str(model), **options}))
    with subprocess.Popen(
        [str(TRAINER), "-P", "-m", "memory.trainer", str(folder)],
        env=_environment(folder) | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as trainer:
        assert trainer.wait() == 0
    assert set(files.inspect(folder / "adapter")) == {files.WEIGHTS, files.CONFIG}
    return str(folder / "adapter")


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        try:
            if _call(f"http://127.0.0.1:{port}", "GET", "/health")[0] == 200:
                return
        except OSError:
            time.sleep(1)


@pytest.fixture(autouse=True)
def unloaded(vllm: Vllm, settings: Any) -> Iterator[None]:
    settings.MEMOS_ADAPTER_SERVER_KEY = KEY
    yield
    settings.MEMOS_ADAPTER_SERVER_KEY = KEY
    servers.unload(vllm.url, NAME)


def _call(url: str, method: str, path: str, body: Any = None, key: str = KEY) -> tuple[int, Any]:
    link = http.client.HTTPConnection(url.removeprefix("http://"), timeout=START_SECONDS)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    link.request(method, path, None if body is None else json.dumps(body), headers)
    answer = link.getresponse()
    content = answer.read().decode()
    link.close()
    try:
        return answer.status, json.loads(content)
    except ValueError:
        return answer.status, content


def _predict(vllm: Vllm, model: str) -> dict[str, float]:
    """Return the log-probabilities of the model's next tokens."""
    body = {"model": model, "prompt": "user: How are letters opened?", "max_tokens": 1, "temperature": 0, "logprobs": 5}
    status, answer = _call(vllm.url, "POST", "/v1/completions", body)
    assert status == 200, answer
    return dict(answer["choices"][0]["logprobs"]["top_logprobs"][0])


def test_an_adapter_of_the_trainer_answers_under_its_name_until_it_is_unloaded(vllm):
    base = _predict(vllm, "base")
    servers.load(vllm.url, NAME, vllm.first)
    assert servers.is_served(vllm.url, NAME, vllm.first)
    first = _predict(vllm, NAME)
    assert first != base

    servers.load(vllm.url, NAME, vllm.second)
    assert servers.is_served(vllm.url, NAME, vllm.second)
    assert not servers.is_served(vllm.url, NAME, vllm.first)
    assert _predict(vllm, NAME) not in (first, base)

    servers.load(vllm.url, NAME, vllm.first)
    assert _predict(vllm, NAME) == pytest.approx(first, abs=1e-4)
    servers.unload(vllm.url, NAME)
    assert _call(vllm.url, "POST", "/v1/completions", {"model": NAME, "prompt": "x"})[0] == 404
    assert _predict(vllm, "base") == pytest.approx(base, abs=1e-4)
    servers.unload(vllm.url, NAME)


@pytest.mark.parametrize(
    ("path", "key", "said"),
    [
        ("large", KEY, "start it with a --max-lora-rank"),
        ("/nowhere/style", KEY, "folder of adapters under the same path"),
        ("first", "another", "MEMOS_ADAPTER_SERVER_KEY"),
    ],
)
def test_what_it_refuses_is_said_with_what_mends_it(vllm, settings, path, key, said):
    settings.MEMOS_ADAPTER_SERVER_KEY = key
    with pytest.raises(AdapterServerUnavailable, match=said):
        servers.load(vllm.url, NAME, getattr(vllm, path, path))
    settings.MEMOS_ADAPTER_SERVER_KEY = KEY
    assert not servers.is_served(vllm.url, NAME, vllm.first)
    servers.load(vllm.url, NAME, vllm.first)


def test_the_stand_in_answers_as_it_does(vllm):
    with serve_models() as stand_in:
        stand_in.key = KEY
        assert _talk(stand_in.url, vllm) == _talk(vllm.url, vllm)


def _talk(url: str, vllm: Vllm) -> list[Any]:
    """Return the statuses and bodies of every answer that the stand-in imitates."""
    load, unload = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
    first = {"lora_name": NAME, "lora_path": vllm.first}
    said = [
        _call(url, "POST", unload, {"lora_name": NAME}),
        _call(url, "POST", load, first | {"lora_path": "/nowhere/style"}),
        _call(url, "POST", load, first | {"lora_path": vllm.large}),
        _call(url, "POST", load, first),
        _call(url, "POST", load, first),
        _call(url, "GET", "/v1/models"),
        _call(url, "POST", unload, {"lora_name": NAME}),
        _call(url, "POST", "/v1/nowhere", {}),
        _call(url, "GET", "/v1/models", key="another"),
    ]
    # vLLM leaves paths out of some answers, and gives more fields for each model.
    listed = [{name: card[name] for name in ("id", "object", "parent")} for card in said[5][1]["data"]]
    roots = [card["root"] for card in said[5][1]["data"] if card["id"] == NAME]
    said[5] = (said[5][0], [listed, roots])
    return json.loads(re.sub(r"No adapter found for [^\"]*", "No adapter found", json.dumps(said)))
