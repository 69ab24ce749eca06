"""A process that loads the columns of namespaces that it is queried for."""

from __future__ import annotations

import pytest

from memory.retrieval.columns import store


@pytest.fixture
def opened():
    """Let this process load the columns of namespaces that it is queried for."""
    store.open_store()
    yield
    store.close_store()
