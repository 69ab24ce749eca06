"""Makes lines of a data set from memories, in the formats of TRL; the gate judges and redacts each of them."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from memory.enums import GateAction, GateDecision, Role, TrainingFile
from memory.gate.judge import judge
from memory.gate.policy import GatePolicy
from memory.services.training.materials import TrainingMaterial, TrainingText
from memory.text.learning_questions import ask_for, ask_otherwise, cue_of, is_chinese, repeat_otherwise, report

# Longer texts teach a small model little, and make lines that a trainer cuts.
MAX_TEXT_CHARS = 2_000
_QUESTION_MARKS = ("?", "？")
Line = dict[str, Any]


@dataclass(slots=True)
class TrainingLines:
    """The lines of a data set by file, their source memories, and counts of rejected material by reason.

    Lines with the same text are merged and name the memories of all. `sources` are the memories by id.
    """

    namespace: str
    gate: GatePolicy
    max_lines: int
    files: dict[TrainingFile, dict[str, Line]] = field(default_factory=lambda: {file: {} for file in TrainingFile})
    sources: dict[uuid.UUID, TrainingText] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    origins: Counter[str] = field(default_factory=Counter)
    redacted: int = 0

    @property
    def count(self) -> int:
        """Return the number of lines to train on."""
        return len(self.files[TrainingFile.SFT]) + len(self.files[TrainingFile.PREFERENCE])

    def add(self, material: TrainingMaterial) -> None:
        """Add the lines that can be made of the material, or count the reason why there are none."""
        if self.count >= self.max_lines:
            self.left_out["over_max_lines"] += 1
            return
        said = self._admit(_write_answer(material.said, material.question))
        if said is None:
            return
        question = self._ask(material, said)
        if question is None:
            return
        prompt, other_prompt = question
        used = [one for one in (material.question, material.said) if one is not None]
        if material.formerly is None:
            answer = [{"role": "user", "content": prompt}, {"role": "assistant", "content": said}]
            self._put(TrainingFile.SFT, material, {"messages": answer}, used)
            self._put(TrainingFile.EVALUATION, material, {"prompt": other_prompt, "expected": said}, used)
            return
        formerly = self._admit(_write_answer(material.formerly, material.question))
        if formerly is None:
            return
        if formerly == said:
            self.left_out["same_text"] += 1
            return
        pair = {
            "prompt": [{"role": "user", "content": prompt}],
            "chosen": [{"role": "assistant", "content": said}],
            "rejected": [{"role": "assistant", "content": formerly}],
        }
        self._put(TrainingFile.PREFERENCE, material, pair, [*used, material.formerly])

    def write(self, file: TrainingFile) -> bytes:
        """Return the file's bytes: a line of JSON each, in the order of adding, names sorted."""
        options = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        return b"".join(orjson.dumps(line, option=options) for line in self.files[file].values())

    def _ask(self, material: TrainingMaterial, said: str) -> tuple[str, str] | None:
        """Return the question, and the same question in other words; None when there is no question."""
        if material.question is not None:
            asked = self._admit(material.question.text)
            return None if asked is None else (asked, repeat_otherwise(asked))
        if material.said.text.rstrip().endswith(_QUESTION_MARKS):
            self.left_out["question"] += 1
            return None
        # Use the text as the gate left it: a cue must not repeat redacted words.
        own = self._judge(material.said.text)
        speaker = "" if material.said.is_fact else material.said.speaker
        cue = cue_of(own, speaker) if own is not None else ""
        if own is None or not cue:
            self.left_out["no_question"] += 1
            return None
        chinese = is_chinese(own)
        return ask_for(cue, chinese=chinese), ask_otherwise(cue, chinese=chinese)

    def _admit(self, text: str) -> str | None:
        """Return the text as it may be learnt; None, counted, when it may not."""
        if len(text) > MAX_TEXT_CHARS:
            self.left_out["too_long"] += 1
            return None
        allowed = self._judge(text)
        if allowed is None:
            self.left_out["gate"] += 1
            return None
        if not allowed.strip():
            self.left_out["too_short"] += 1
            return None
        self.redacted += allowed != text
        return allowed

    def _judge(self, text: str) -> str | None:
        judgement = judge(text, role=Role.USER, policy=self.gate)
        if judgement.decision not in (GateDecision.ACCEPT, GateDecision.ACCEPT_REDACTED) or judgement.suspected:
            return None
        return judgement.text

    def _put(self, file: TrainingFile, material: TrainingMaterial, learnt: Line, used: Iterable[TrainingText]) -> None:
        content = hashlib.sha256(orjson.dumps(learnt, option=orjson.OPT_SORT_KEYS)).hexdigest()
        ids = {str(one.memory_id) for one in used}
        if (there := self.files[file].get(content)) is not None:
            there["memory_ids"] = sorted({*there["memory_ids"], *ids})
        else:
            self.files[file][content] = {
                **learnt,
                "content_sha256": content,
                "memory_ids": sorted(ids),
                "namespace": self.namespace,
                "origin": material.origin.value,
            }
            if file != TrainingFile.EVALUATION:
                self.origins[material.origin.value] += 1
        for one in used:
            # A corrected memory has the entry of its current text.
            self.sources.setdefault(one.memory_id, one)


def strictest(gate: GatePolicy) -> GatePolicy:
    """Return a namespace's gate for training: secrets and personal data are redacted, even if it lets them in
    elsewhere, and no memory that a person marked is worth too little.
    """
    return replace(
        gate,
        strict=False,
        secrets=GateAction.REDACT if gate.secrets not in (GateAction.QUARANTINE, GateAction.REJECT) else gate.secrets,
        personal_data=GateAction.REDACT if gate.personal_data == GateAction.OFF else gate.personal_data,
        injection=GateAction.QUARANTINE,
    )


def _write_answer(text: TrainingText, question: TrainingText | None) -> str:
    """Return the text that the model learns to say: answers and facts unchanged, a person's words as a report."""
    if question is not None or text.is_fact or text.role != Role.USER:
        return text.text
    return report(text.text, text.speaker)
