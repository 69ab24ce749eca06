"""Joins the vectors of MiniLM and of Universal Sentence Encoder multilingual v3 into one, to be stored and searched.

MiniLM is the better one in English, the other one reads fifteen languages. A text's vector is both of its vectors one
behind the other. Their lengths are such that the cosine of two texts is the mean of both cosines, in which MiniLM's
counts SHARE. A question may weigh them otherwise (`weigh`), and is compared with the same stored vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.providers.minilm.model import MiniLM, RunModel, TextRun
from memory.providers.minilm.weights import HIDDEN, PRECISIONS
from memory.providers.use_v3.model import UseV3
from memory.providers.use_v3.weights import DIMENSIONS

# The languages in Latin letters that the multilingual model has learned besides English, and the scripts that it reads
# besides those of Chinese, Japanese and Korean.
LANGUAGES = frozenset({"de", "es", "fr", "it", "nl", "pl", "pt", "tr"})
SCRIPTS = frozenset({"LATIN", "CYRILLIC", "ARABIC", "THAI"})
# Ends the name of a model that has both vectors.
JOINED = "+use-multilingual-v3"
MODELS = (*PRECISIONS, *(precision + JOINED for precision in PRECISIONS))
# A text, or two forms of it: as MiniLM reads it, and unchanged.
ReadText = str | Sequence[str]
# The share of MiniLM's cosine in the joint one. Of 0.4 to 0.7, 0.6 is best on most sets.
SHARE = 0.6
# The slices of a joint vector: MiniLM and the multilingual model.
PARTS = (slice(None, HIDDEN), slice(HIDDEN, None))


class JointModel(RunModel):
    """Joins MiniLM in `precision` and the multilingual model. Its methods raise WeightsError as theirs do."""

    def __init__(self, precision: str, model_dir: Path) -> None:
        self._minilm = MiniLM(precision, model_dir)
        self._multilingual = UseV3(model_dir)

    @property
    def dimensions(self) -> int:
        return HIDDEN + DIMENSIONS

    @property
    def is_prepared(self) -> bool:
        """Tells whether the files that are made of the weights are there."""
        return self._minilm.is_prepared and self._multilingual.is_prepared

    def prepare(self) -> None:
        """Makes these files if they are not there."""
        self._minilm.prepare()
        self._multilingual.prepare()

    def load(self) -> None:
        """Loads both models."""
        self._minilm.load()
        self._multilingual.load()

    def split(self, texts: Sequence[ReadText]) -> list[TextRun]:
        """Returns the texts as runs of similar length."""
        self.load()
        plain = [text if isinstance(text, str) else text[1] for text in texts]
        runs = self._minilm.split([text if isinstance(text, str) else text[0] for text in texts])
        return [
            TextRun(run.rows, *run.inputs, self._multilingual.read([plain[row] for row in run.rows])) for run in runs
        ]

    def embed(self, run: TextRun) -> np.ndarray:
        """Returns the joint vectors of a run, float32 [len(run.rows), 896], each row of unit length."""
        return join(self._minilm.embed(run), self._multilingual.embed(run.inputs[1]))


LoadedModel = MiniLM | JointModel


def make_model(name: str, model_dir: Path) -> LoadedModel:
    """Returns the model of that name, one of MODELS. Raises WeightsError for another name."""
    precision = name.removesuffix(JOINED)
    return JointModel(precision, model_dir) if name.endswith(JOINED) else MiniLM(precision, model_dir)


def join(minilm: np.ndarray, multilingual: np.ndarray) -> np.ndarray:
    """Returns joint vectors, float32 [texts, 896], of those of each model, whose rows are of unit length."""
    return np.hstack([minilm * SHARE**0.5, multilingual * (1 - SHARE) ** 0.5])


def take_apart(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the vectors of each model of joint ones [texts, 896]."""
    minilm, multilingual = (vectors[:, part] for part in PARTS)
    return minilm / SHARE**0.5, multilingual / (1 - SHARE) ** 0.5


def weigh(minilm: np.ndarray, multilingual: np.ndarray, *, weight: np.ndarray) -> np.ndarray:
    """Returns vectors of questions, float32 [texts, 896]: the inner product with a stored vector is `weight` times the
    cosine of MiniLM and 1 − `weight` times the other one (`weight` [texts]).

    They are not of unit length: their length times the cosine is that inner product.
    """
    own = weight[:, None].astype(np.float32)
    return np.hstack([minilm * own / SHARE**0.5, multilingual * (1 - own) / (1 - SHARE) ** 0.5])
