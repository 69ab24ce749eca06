from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.enums import AdapterState, TrainingOrigin
from memory.errors import MemosError
from memory.management import arguments
from memory.models import Adapter, TrainingDataset
from memory.services.tenancy.namespaces import scope_of_existing
from memory.services.training import adapters, datasets, process, serving
from memory.services.training.export import make_dataset
from memory.services.training.train import train
from memory.types import Scope, system_access

ACTOR = "command:train_adapter"
_TRAINED = adapters.AdapterOptions()


class Command(BaseCommand):
    help = (
        "Trains a LoRA adapter on what a namespace remembers, has it evaluated, and registers it when it passes. The "
        "policy of the namespace must have training.consent; MEMOS_ADAPTER_BASE_MODEL names the base model, and "
        "MEMOS_TRAINER_PYTHON a Python with what requirements-train.txt names."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("namespace", type=arguments.name)
        parser.add_argument("--name", default="memory", help="of the adapter: small letters, digits and hyphens")
        parser.add_argument("--dataset", type=uuid.UUID, help="a training export that is made (default: a new one)")
        parser.add_argument(
            "--origin",
            dest="origins",
            action="append",
            choices=TrainingOrigin.values,
            help="of a new one (default: all)",
        )
        parser.add_argument("--rank", type=int, default=_TRAINED.rank)
        parser.add_argument("--epochs", type=int, default=_TRAINED.epochs, help="at most")
        parser.add_argument("--learning-rate", type=float, default=_TRAINED.learning_rate)
        parser.add_argument("--seed", type=int, default=_TRAINED.seed)
        parser.add_argument("--activate", action="store_true", help="put it to use when it passes")

    def handle(self, *, namespace: str, activate: bool, **options: Any) -> None:
        try:
            scope = scope_of_existing(namespace, actor=ACTOR)
            # Checked first, because without the packages the export would be made for nothing.
            if missing := process.find_missing():
                raise CommandError(missing)
            dataset = self._find_dataset(scope, options["dataset"], options["origins"])
            row = adapters.start_training(
                scope,
                name=options["name"],
                dataset_id=dataset.id,
                options=adapters.AdapterOptions(
                    rank=options["rank"],
                    epochs=options["epochs"],
                    learning_rate=options["learning_rate"],
                    seed=options["seed"],
                ),
                now=timezone.now(),
                in_background=False,
            )
            self.stdout.write(f"Training adapter {row.id} on data set {dataset.id}…")
            trained = train(namespace_id=scope.namespace_id, adapter_id=row.id, now=timezone.now)
            if trained is None:
                raise CommandError("The training was stopped: the adapter was retired or became stale meanwhile.")
            self._describe(trained)
            if trained.state != AdapterState.CANDIDATE:
                raise CommandError(f"The adapter is {trained.state}: {trained.problem}")
            if activate:
                serving.activate(system_access(ACTOR), adapter_id=row.id, now=timezone.now())
                self.stdout.write(f"It is active; servers know it as {trained.served_name}.")
            else:
                self.stdout.write(f"It passed: POST /v1/adapters/{trained.id}/activate puts it to use.")
        except MemosError as error:
            raise CommandError(error.message) from error

    def _find_dataset(self, scope: Scope, dataset_id: uuid.UUID | None, origins: list[str] | None) -> TrainingDataset:
        if dataset_id is not None:
            return datasets.find_dataset(system_access(ACTOR), dataset_id=dataset_id)
        wanted = tuple(TrainingOrigin(one) for one in origins or TrainingOrigin.values)
        asked = datasets.start_export(scope, datasets.TrainingOptions(wanted), now=timezone.now(), in_background=False)
        made = make_dataset(namespace_id=scope.namespace_id, dataset_id=asked.id, now=timezone.now)
        if made is None or made.problem:
            raise CommandError(f"The data set was not made: {made.problem if made else 'it was deleted'}")
        counts = ", ".join(f"{about['lines']} in {name}" for name, about in made.manifest["files"].items())
        self.stdout.write(f"Data set {made.id}: {counts}, of {made.manifest['memories']} memories.")
        return made

    def _describe(self, row: Adapter) -> None:
        metrics = row.metrics
        for name in ("recall", "paraphrases", "refusals"):
            if metrics.get(name) is not None:
                self.stdout.write(f"  {name:<12} {metrics[name]:.0%}")
        for name in ("loss_facts", "loss_general"):
            if metrics.get(name):
                before, after = metrics[name]
                self.stdout.write(f"  {name:<12} {before:.2f} → {after:.2f} nats a token")
        size = sum(about["bytes"] for about in row.files.values())
        self.stdout.write(f"  {metrics.get('seconds', 0):.0f} s, {size:,} bytes")
