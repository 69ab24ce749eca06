"""Serializers that validate requests are kept, a thread each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

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
