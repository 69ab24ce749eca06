"""Questions in languages that the bundled model cannot read: memories are found by words, and answers never guessed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings

QUESTION = {"namespace": "alice", "session_id": "s1"}


@pytest.fixture(scope="module")
def bundled_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with override_settings(MEMOS_EMBEDDING_PROVIDER="minilm", MEMOS_MODEL_DIR=tmp_path_factory.mktemp("models")):
        yield


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["Mama dzwoniła wczoraj.", "Samochód się zepsuł."], "Gdzie położyłem niebieski parasol?"),
        (["мама звонила вчера", "машина сломалась"], "Куда я положил синий зонт?"),
        (["エアコンの修理は金曜日です", "母から昨日電話があった"], "青い傘をどこに置いたか？"),
        (["El coche se averió.", "Mamá llamó ayer."], "¿Dónde puse el paraguas azul?"),
    ],
)
def test_a_question_in_a_language_that_is_not_read_is_not_answered_by_guess(
    alice, bundled_model, remember, texts, question
):
    for text in texts:
        remember(alice, text)

    body = alice.post("/v1/answer", QUESTION | {"query": question}).json()

    assert (body["abstained"], body["degraded"]) == (True, ["language_unread"])


def test_words_in_common_answer_a_question_in_a_language_that_is_not_read(alice, bundled_model, remember):
    for text in ("Mi hermana vive en Granada.", "El coche se averió.", "Mamá llamó ayer.", "Compré pan y leche."):
        remember(alice, text)

    body = alice.post("/v1/answer", QUESTION | {"query": "¿Dónde vive mi hermana?"}).json()

    assert body["answer"].startswith("Mi hermana vive en Granada.")
    assert body["degraded"] == ["language_unread"]


def test_what_shares_no_word_with_a_question_and_is_not_near_it_is_no_answer(alice, bundled_model, remember):
    for text in ("Mom called yesterday.", "The car broke down."):
        remember(alice, text)

    body = alice.post("/v1/answer", QUESTION | {"query": "Where did I put the blue umbrella?"}).json()

    assert (body["abstained"], body["degraded"]) == (True, [])
