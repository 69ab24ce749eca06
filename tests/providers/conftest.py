from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _calls_can_be_kept(django_db_setup: None) -> None:
    """Record every call of a model over the network, even in tests without a database."""


@pytest.fixture(autouse=True)
def _straight_to_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep clients from using the environment's proxy for the tests' own endpoints."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
