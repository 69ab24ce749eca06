"""Questions that ask for a memory by its own first words: for models that learn it, and for asking them again.

The wording is English, or Chinese for a text that is mostly Chinese. Nothing here depends on anything but the text.
"""

from __future__ import annotations

import re

from memory.text.analysis import STOP_WORDS, cjk_share

MIN_WORDS = 2
MAX_WORDS = 6
MAX_CHARS = 80
_MOSTLY = 0.5
_CJK_CHARS = 12
# What the gate puts in the place of a secret, and other words in brackets, ask for nothing.
_BRACKETS = re.compile(r"\[[^\]]*\]")
_EDGES = ".,;:!?\"“”'‘’()…。，；：！？（）「」《》"
_SENTENCE_END = re.compile(r"[。！？；\n]")


def is_chinese(text: str) -> bool:
    """Whether most of its letters are Chinese, Japanese or Korean."""
    return cjk_share(text) >= _MOSTLY


def cue_of(text: str) -> str:
    """The first half of the words that say something, MIN_WORDS to MAX_WORDS of them, or of a sentence's characters;
    empty when there is too little to ask by."""
    plain = _BRACKETS.sub(" ", text)
    if is_chinese(plain):
        sentence = next((part for part in _SENTENCE_END.split(plain.strip()) if part.strip()), "")
        sentence = sentence.strip().strip(_EDGES)
        half = sentence[: min(_CJK_CHARS, (len(sentence) + 1) // 2)].rstrip(_EDGES)
        return half if len(half) >= MIN_WORDS else ""
    words = [word.strip(_EDGES) for word in plain.split()]
    told = [word for word in words if word and word.lower() not in STOP_WORDS]
    if len(told) < MIN_WORDS:
        return ""
    half = told[: max(MIN_WORDS, min(MAX_WORDS, (len(told) + 1) // 2))]
    return " ".join(half)[:MAX_CHARS].rstrip()


def ask_for(cue: str) -> str:
    """The question that a model learns to answer."""
    return f"关于{cue}，你记得什么？" if is_chinese(cue) else f"What do you remember about {cue}?"


def ask_otherwise(cue: str) -> str:
    """The same in other words, which a model does not see in training."""
    return f"说说你知道的{cue}。" if is_chinese(cue) else f"Tell me what you know of {cue}."


def repeat_otherwise(question: str) -> str:
    """A question that somebody asked, with other words around it."""
    return f"我想知道：{question}" if is_chinese(question) else f"I would like to know this: {question}"


def report(text: str, speaker: str) -> str:
    """What somebody said, as another tells it; nobody named: the one who is spoken with."""
    if is_chinese(text):
        return f"{speaker or '你'}说过：{text}"
    return f"{speaker or 'You'} said: {text}"
