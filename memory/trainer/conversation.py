"""Encodes messages as token ids and generates answers; only the last message of a conversation is learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory.trainer.base_model import BaseModel

# A longer conversation loses its beginning.
MAX_TOKENS = 512
_AT_ONCE = 8
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids with their labels: the same ids, or -100 for tokens that aren't learnt."""

    ids: list[int]
    labels: list[int]


def encode(base: BaseModel, messages: list[dict[str, str]], answer: str) -> Encoded:
    """Encode the conversation with its answer, of which only the answer is learnt."""
    prompt = _prompt_ids(base, messages)
    said = base.tokenizer(answer + base.tokenizer.eos_token, add_special_tokens=False)["input_ids"][:MAX_TOKENS]
    prompt = prompt[-max(1, MAX_TOKENS - len(said)) :]
    return Encoded(prompt + said, [_IGNORED] * len(prompt) + said)


def encode_text(base: BaseModel, text: str) -> Encoded:
    """Encode a plain text, all of which is predicted."""
    ids = base.tokenizer(text, add_special_tokens=False)["input_ids"][:MAX_TOKENS]
    return Encoded(ids, ids)


def batch(base: BaseModel, several: list[Encoded]) -> dict[str, Any]:
    """Return the sequences as tensors of equal width, padded on the right."""
    import torch  # noqa: PLC0415

    width = max(len(one.ids) for one in several)
    pad = base.tokenizer.eos_token_id
    device = base.model.device
    return {
        "input_ids": torch.tensor([one.ids + [pad] * (width - len(one.ids)) for one in several], device=device),
        "attention_mask": torch.tensor(
            [[1] * len(one.ids) + [0] * (width - len(one.ids)) for one in several], device=device
        ),
        "labels": torch.tensor([one.labels + [_IGNORED] * (width - len(one.ids)) for one in several], device=device),
    }


def mean_loss(base: BaseModel, model: Any, several: list[Encoded]) -> float:
    """Return the mean negative log-probability in nats of each predicted token, or 0.0 without any."""
    totals = [sum_losses(base, model, several[start : start + _AT_ONCE]) for start in range(0, len(several), _AT_ONCE)]
    tokens = sum(count for part in totals for _, count in part)
    return sum(loss for part in totals for loss, _ in part) / tokens if tokens else 0.0


def sum_losses(base: BaseModel, model: Any, several: list[Encoded]) -> list[tuple[float, int]]:
    """Return for each sequence the sum of negative log-probabilities, and the number of predicted tokens."""
    import torch  # noqa: PLC0415

    model.eval()
    inputs = batch(base, several)
    labels = inputs.pop("labels")
    with torch.no_grad():
        logits = model(**inputs).logits[:, :-1].float()
    wanted = labels[:, 1:]
    losses = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), wanted, ignore_index=_IGNORED, reduction="none"
    ).sum(dim=1)
    counts = (wanted != _IGNORED).sum(dim=1)
    return list(zip(losses.tolist(), counts.tolist(), strict=True))


def answer_all(base: BaseModel, model: Any, asked: list[list[dict[str, str]]], *, tokens: int) -> list[str]:
    """Return the model's greedy answer to each conversation, of at most `tokens` tokens."""
    answers: list[str] = []
    for start in range(0, len(asked), _AT_ONCE):
        answers += _answer_some(base, model, asked[start : start + _AT_ONCE], tokens=tokens)
    return answers


def _answer_some(base: BaseModel, model: Any, asked: list[list[dict[str, str]]], *, tokens: int) -> list[str]:
    import torch  # noqa: PLC0415

    model.eval()
    prompts = [_prompt_ids(base, messages)[-MAX_TOKENS:] for messages in asked]
    width, pad = max(map(len, prompts)), base.tokenizer.eos_token_id
    device = base.model.device
    # Padded on the left, so that generation continues on the right.
    ids = torch.tensor([[pad] * (width - len(one)) + one for one in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in prompts], device=device)
    with torch.no_grad():
        said = model.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=tokens, do_sample=False, pad_token_id=pad
        )
    return [base.tokenizer.decode(one[width:], skip_special_tokens=True).strip() for one in said]


def _prompt_ids(base: BaseModel, messages: list[dict[str, str]]) -> list[int]:
    text = base.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return list(base.tokenizer(text, add_special_tokens=False)["input_ids"])
