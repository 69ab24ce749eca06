"""A namespace whose policy reads preferences by rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from memory.services.preferences.read import PreferencesRead, read_session
from memory.services.tenancy.policy import put_policy


@pytest.fixture
def wanted(alice) -> None:
    put_policy(alice.scope, wanted={"preferences": "rules"}, now=timezone.now())


@pytest.fixture
def read(alice, wanted) -> Callable[..., PreferencesRead]:
    """Return a function that extracts preferences from new turns of the session."""

    def run(session: str = "s1") -> PreferencesRead:
        return read_session(alice.scope, session=session, now=timezone.now())

    return run
