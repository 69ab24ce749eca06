"""Trains a LoRA adapter on a data set, and measures the model before and after."""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.trainer import measure
from memory.trainer.base_model import BaseModel, TrainerProblem, load
from memory.trainer.conversation import Encoded, batch, encode, encode_text
from memory.trainer.texts import REFUSAL, REFUSAL_ZH, REPLAYED, UNKNOWN_IN_TRAINING

__all__ = ["TrainerProblem", "TrainerRequest", "train"]

# Mean loss of an epoch, in nats a token, below which further epochs teach nothing but the wording.
ENOUGH = 0.06
# Weight of keeping predictions of other texts the same, relative to learning, and number of such texts per step.
REPLAY_WEIGHT = 2.0
_REPLAYED_AT_ONCE = 2
_TARGETS = ("q_proj", "v_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True)
class TrainerRequest:
    """A request for training: `base_model` is a folder or a GGUF file, `rank` that of the adapter's matrices."""

    base_model: Path
    rank: int
    epochs: int
    learning_rate: float
    batch: int
    seed: int
    threads: int

    @classmethod
    def read(cls, folder: Path) -> TrainerRequest:
        values = json.loads((folder / "request.json").read_text())
        return cls(**{**values, "base_model": Path(values["base_model"])})


def train(folder: Path) -> dict[str, Any]:
    """Train as the folder requests, write `adapter/`, and return the base model's hash, metrics, seconds and memory."""
    import torch  # noqa: PLC0415 - takes seconds to import, and is optional

    asked, started = TrainerRequest.read(folder), time.monotonic()
    lines, pairs, held_out = (_read(folder / f"{name}.jsonl") for name in ("sft", "preference", "evaluation"))
    if not lines:
        raise TrainerProblem("The data set has no line of sft.jsonl: there is nothing to learn.")
    torch.manual_seed(asked.seed)
    torch.set_num_threads(asked.threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    base = load(asked.base_model)
    if torch.cuda.is_available():
        base.model.to("cuda")
    before = measure.losses(base, base.model, lines)
    preferred_before = measure.prefer(base, base.model, pairs)["preferred"]
    replay = _Replay(base)
    model = _add_adapter(base, asked)
    steps, epochs, loss = _learn(base, model, asked, _to_learn(base, lines), replay)
    after = measure.losses(base, model, lines)
    figures = {
        "loss_facts": [before["facts"], after["facts"]],
        "loss_general": [before["general"], after["general"]],
        **measure.ask(base, model, lines, held_out),
        **measure.prefer(base, model, pairs),
        "preferred_before": preferred_before,
        "steps": steps,
        "epochs": epochs,
        "last_loss": loss,
    }
    with model.disable_adapter():
        figures["loss_without_adapter"] = measure.losses(base, model, lines)["facts"]
    trainable, total = model.get_nb_trainable_parameters()
    _save(model, folder / "adapter", asked.base_model.name)
    return {
        "base_sha256": base.sha256,
        "metrics": {**figures, "trained_parameters": trainable, "parameters": total},
        "seconds": time.monotonic() - started,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


class _Replay:
    """Other texts with the base model's predictions, which training should preserve."""

    def __init__(self, base: BaseModel) -> None:
        self._base = base
        self._texts = [encode_text(base, text) for text in REPLAYED]
        base.model.eval()
        self._expected = [self._predict(base.model, [number]).exp().detach() for number in range(len(REPLAYED))]

    def divergence(self, model: Any, step: int) -> Any:
        """Return the mean Kullback-Leibler divergence per token from the base model, for the texts of a step."""
        import torch  # noqa: PLC0415

        first = step * _REPLAYED_AT_ONCE
        numbers = [(first + place) % len(self._texts) for place in range(_REPLAYED_AT_ONCE)]
        predicted = self._predict(model, numbers)
        expected = torch.cat([self._expected[number] for number in numbers])
        return torch.nn.functional.kl_div(predicted, expected, reduction="batchmean")

    def _predict(self, model: Any, numbers: list[int]) -> Any:
        """Return the log-probabilities of every next token (tokens of all texts, vocabulary)."""
        import torch  # noqa: PLC0415

        several = [self._texts[number] for number in numbers]
        inputs = batch(self._base, several)
        with torch.set_grad_enabled(model.training):
            logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits.float()
        kept = torch.cat([logits[row, : len(one.ids) - 1] for row, one in enumerate(several)])
        return torch.log_softmax(kept, dim=-1)


def _add_adapter(base: BaseModel, asked: TrainerRequest) -> Any:
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415

    names = {name.rpartition(".")[2] for name, _ in base.model.named_modules()}
    targets = [name for name in _TARGETS if name in names]
    if not targets:
        raise TrainerProblem("The base model has none of the layers that an adapter changes: it is of another family.")
    config = LoraConfig(
        r=asked.rank, lora_alpha=2 * asked.rank, lora_dropout=0.0, target_modules=targets, task_type="CAUSAL_LM"
    )
    return get_peft_model(base.model, config)


def _to_learn(base: BaseModel, lines: list[dict[str, Any]]) -> list[Encoded]:
    """Return the data set's answers and refusals, without which a model would answer whatever it is asked."""
    found = [encode(base, one["messages"][:-1], one["messages"][-1]["content"]) for one in lines]
    refusals = [
        encode(base, [{"role": "user", "content": text}], REFUSAL if text.isascii() else REFUSAL_ZH)
        for text in UNKNOWN_IN_TRAINING
    ]
    return found + refusals


def _learn(
    base: BaseModel, model: Any, asked: TrainerRequest, examples: list[Encoded], replay: _Replay
) -> tuple[int, int, float]:
    """Train on all examples until they are learnt or `epochs` are over; return (steps, epochs, last epoch's loss)."""
    import torch  # noqa: PLC0415

    optimizer = torch.optim.AdamW(
        [one for one in model.parameters() if one.requires_grad], lr=asked.learning_rate, weight_decay=0.0
    )
    order = random.Random(asked.seed)  # noqa: S311 - the order of examples is no secret
    a_epoch = -(-len(examples) // asked.batch)
    steps, epochs, mean = 0, 0, 0.0
    while epochs < asked.epochs and (epochs == 0 or mean >= ENOUGH):
        epochs += 1
        shuffled = order.sample(examples, len(examples))
        losses = []
        model.train()
        for start in range(0, len(shuffled), asked.batch):
            loss = model(**batch(base, shuffled[start : start + asked.batch])).loss
            (loss + REPLAY_WEIGHT * replay.divergence(model, steps)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(float(loss.detach()))
            steps += 1
            _report(steps, asked.epochs * a_epoch)
        mean = sum(losses) / len(losses)
    return steps, epochs, mean


def _save(model: Any, folder: Path, base_name: str) -> None:
    model.save_pretrained(folder, safe_serialization=True)
    # Remove what else peft writes (a model card), because it contains paths of this machine.
    for path in folder.iterdir():
        if path.name not in ("adapter_model.safetensors", "adapter_config.json"):
            path.unlink()
    # The path of the base model on this machine must not become public.
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = base_name
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True))


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


def _report(done: int, total: int) -> None:
    sys.stdout.write(json.dumps({"done": done, "total": total}) + "\n")
    sys.stdout.flush()
