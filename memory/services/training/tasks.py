"""Background jobs that export data sets and train adapters."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memory.enums import AdapterState
from memory.services.training import export, follow, train

__all__ = ["export_training", "follow_training", "forget_training_files", "train_adapter"]

follow_training = follow.follow
forget_training_files = follow.forget


def export_training(namespace_id: int, dataset_id: str, *, now: datetime) -> int:
    """Make a data set to train on, and request the adapter that waits for it; return the number of its memories."""
    made = export.make_dataset(namespace_id=namespace_id, dataset_id=UUID(dataset_id), now=timezone.now)
    if made is None:
        return 0
    follow.start_rebuilt(made, now=timezone.now())
    return int(made.manifest.get("memories", 0))


def train_adapter(namespace_id: int, adapter_id: str, *, now: datetime) -> int:
    """Train an adapter; return 1 when it may be activated."""
    trained = train.train(namespace_id=namespace_id, adapter_id=UUID(adapter_id), now=timezone.now)
    return int(trained is not None and trained.state == AdapterState.CANDIDATE)
