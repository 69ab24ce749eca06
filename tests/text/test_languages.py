"""Texts that a model trained on English is expected to read."""

from __future__ import annotations

import pytest

from memory.text.languages import unread_letters


@pytest.mark.parametrize(
    "text",
    [
        "Gdzie położyłem niebieski parasol?",
        "Куда я положил синий зонт?",
        "Πού έβαλα την μπλε ομπρέλα;",
        "أين وضعت المظلة الزرقاء؟",
        "मैंने नीली छतरी कहाँ रखी?",
        "ฉันวางร่มสีฟ้าไว้ที่ไหน",
        "Tôi để cái ô màu xanh ở đâu?",
        "Mavi şemsiyeyi nereye koydum?",
        "¿Dónde puse el paraguas azul?",
        "Wo habe ich den blauen Schirm hingelegt?",
        "Où ai-je mis le parapluie bleu?",
    ],
)
def test_other_languages_are_not_read(text):
    assert unread_letters(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "Where did I put the blue umbrella?",
        "blue umbrella",
        "Okafor invoice export Q3",
        "What did Erik say about Malmö?",
        "Camille Duval, Neukölln",
        "naïve café résumé",
        "Does José live in São Paulo?",
        "DER value",
        "São Paulo hotel booking",
        "El Niño explained",
        "Who sang La vie en rose?",
        "crème de la mer price",
        "我把蓝色雨伞放在哪里了？",
        "El Torito由谁主导设计？",
        "파란 우산을 어디에 두었지?",
    ],
)
def test_english_names_and_what_the_dictionary_is_asked_for_are_left_alone(text):
    assert unread_letters(text) == 0


def test_a_text_in_two_scripts_is_read_in_part():
    assert unread_letters("Anna said: привет") == pytest.approx(6 / 14)
