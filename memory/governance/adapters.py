"""Decides whether an adapter may be used, by what it has learnt and what it has harmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Minimum shares of questions that are answered correctly, or refused.
MIN_RECALL = 0.8
MIN_PARAPHRASES = 0.6
MIN_REFUSALS = 0.6
# Maximum increase of the loss on general text, in nats a token.
MAX_HARM = 0.25


def judge_adapter(metrics: Mapping[str, Any]) -> list[str]:
    """Return the reasons why the adapter fails, one sentence each; [] if it passes.

    `metrics` are those of `memory.trainer`. A metric that wasn't measured fails.
    """
    reasons = []
    for name, least, what in (
        ("recall", MIN_RECALL, "of the questions of training"),
        ("paraphrases", MIN_PARAPHRASES, "of the questions in other words"),
        ("refusals", MIN_REFUSALS, "of the questions about what nobody has told"),
    ):
        share = metrics.get(name)
        if share is None:
            reasons.append(f"{name} was not measured: it needs {least:.0%} {what}.")
        elif not share >= least:
            verb = "refused" if name == "refusals" else "answered rightly"
            reasons.append(f"{name} is {share:.0%}: {least:.0%} {what} must be {verb}.")
    before, after = metrics.get("loss_general") or (None, None)
    if before is None or after is None:
        reasons.append("loss_general was not measured.")
    elif not after - before <= MAX_HARM:
        reasons.append(
            f"loss_general went from {before:.2f} to {after:.2f} nats a token: it may rise by {MAX_HARM:.2f}. Train "
            "fewer epochs, with a lower learning rate or rank."
        )
    own_before, own_after = metrics.get("loss_facts") or (None, None)
    if own_before is None or own_after is None:
        reasons.append("loss_facts was not measured.")
    elif not own_after < own_before:
        reasons.append(f"loss_facts did not fall ({own_before:.2f} to {own_after:.2f}): nothing was learnt.")
    return reasons
