from __future__ import annotations

import pytest

from memory.providers.name_lists import lexicon
from memory.text.names import Lexicon


@pytest.fixture(scope="session")
def words() -> Lexicon:
    """Return the word lists in use."""
    return lexicon()
