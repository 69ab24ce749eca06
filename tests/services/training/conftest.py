"""A consenting namespace with memories to learn, a stand-in for the trainer, and a server of models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.training.stand_in import ModelServer, StandInTrainer, serve_models, stand_in_trainer


@pytest.fixture
def trainer(tmp_path: Path, settings: Any) -> StandInTrainer:
    (tmp_path / "trainer").mkdir()
    stand_in = stand_in_trainer(tmp_path / "trainer")
    settings.MEMOS_TRAINER_PYTHON = str(stand_in.program)
    settings.MEMOS_ADAPTERS_DIR = str(tmp_path / "adapters")
    settings.MEMOS_ADAPTER_BASE_MODEL = str(tmp_path / "base.gguf")
    return stand_in


@pytest.fixture
def models(settings: Any) -> Iterator[ModelServer]:
    with serve_models() as server:
        settings.MEMOS_ADAPTER_SERVERS = [f"{server.url}/v1/"]
        settings.MEMOS_ADAPTER_SERVER_KEY = "key-of-the-server"
        yield server
