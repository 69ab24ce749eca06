"""A process that holds what it is asked for."""

from __future__ import annotations

import pytest

from memory.retrieval.columns import store


@pytest.fixture
def opened():
    """This process holds what it is asked for."""
    store.open_store()
    yield
    store.close_store()
