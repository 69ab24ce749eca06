"""Serializers that validate requests are kept and reused, one for each thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from rest_framework.exceptions import ValidationError

from memory.api.fields import StrictCharField
from memory.api.serializers.query import QuerySerializer
from memory.api.views.base import _validators


def test_a_thread_keeps_its_own_and_shares_it_with_no_other():
    together = Barrier(2)

    def twice(_: int) -> tuple[object, object]:
        together.wait()
        return _validators.of(QuerySerializer), _validators.of(QuerySerializer)

    with ThreadPoolExecutor(2) as pool:
        (one, same), (other, _) = pool.map(twice, range(2))

    assert one is same
    assert one is not other


@pytest.mark.parametrize("lone", ["\ud800", "a\udfffb", "é" * 5_000 + "\udc00\ud83d"])
def test_lone_surrogates_are_refused_by_the_first_of_them(lone):
    first = next(character for character in lone if "\ud800" <= character <= "\udfff")
    with pytest.raises(ValidationError, match=f"not allowed: U\\+{ord(first):X}"):
        StrictCharField().run_validation(lone)


def test_every_other_character_is_taken():
    text = "plain, é, 漢字, 😀 \u202e \U0010ffff"
    assert StrictCharField().run_validation(text) == text
