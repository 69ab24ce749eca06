"""Opens the columns of this process for tests."""

from __future__ import annotations

import pytest

from memory.retrieval.columns import store


@pytest.fixture
def opened():
    """Makes this process hold the namespaces that it searches."""
    store.open_store()
    yield
    store.close_store()
