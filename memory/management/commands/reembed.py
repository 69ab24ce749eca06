from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memory.enums import EmbeddingState
from memory.errors import MemosError
from memory.models import EmbeddingModel
from memory.providers.embedding import PROVIDERS
from memory.providers.embedding.registry import find_kind, read_configured_model
from memory.services.index.missing_vectors import prune_retired, reembed


class Command(BaseCommand):
    help = (
        "Makes the vectors of another embedding model beside the present ones and switches to it when all are there. "
        "Search goes on meanwhile. Interrupted, it goes on where it ended when it is run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--provider", choices=tuple(PROVIDERS), help="default: MEMOS_EMBEDDING_PROVIDER")
        parser.add_argument("--model", help="default: MEMOS_EMBEDDING_MODEL, or the provider's own")
        parser.add_argument("--prune", action="store_true", help="delete the former models' vectors afterwards")

    def handle(self, *, provider: str | None, model: str | None, prune: bool, **_: Any) -> None:
        wanted, wanted_model = read_configured_model()
        provider = provider or wanted
        model = model or (wanted_model if provider == wanted else find_kind(provider).default_model)
        active = _active()
        if active and (active.provider, active.name) == (provider, model):
            self.stdout.write(f"{active} is the active model already: there is nothing to switch.")
        else:
            self._switch(provider, model)
        if prune:
            self.stdout.write(f"{prune_retired()} vectors of former models were deleted.")

    def _switch(self, provider: str, model: str) -> None:
        # disable=None draws the bar only on a terminal.
        with tqdm(unit="memory", desc=model, disable=None) as bar:

            def progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            try:
                target = reembed(
                    provider=provider, name=model, actor="command:reembed", now=timezone.now, progress=progress
                )
            except KeyboardInterrupt:
                raise CommandError(
                    f"Interrupted. What is made so far is kept; search uses {_active() or 'no model'}. To go on:"
                    f"\n  manage.py reembed --provider {provider} --model {model}",
                    returncode=130,
                ) from None
            except MemosError as error:
                raise CommandError(
                    f"{error.message}\nWhat is made so far is kept: run the same command again when that is repaired."
                ) from error
        self.stdout.write(f"Search uses {target} now, {target.vectors.across_namespaces().count()} vectors.")
        if (provider, model) != read_configured_model():
            self.stdout.write(
                f"Set MEMOS_EMBEDDING_PROVIDER={provider} and MEMOS_EMBEDDING_MODEL={model}: the settings should agree."
            )


def _active() -> EmbeddingModel | None:
    return EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
