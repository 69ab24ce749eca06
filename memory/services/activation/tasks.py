"""Background jobs that build and keep up activation caches."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from memory.enums import ActivationEngine, PromptForm
from memory.services.activation import build, upkeep
from memory.services.jobs.registry import scope_of

__all__ = ["build_activation", "keep_up_activation"]

keep_up_activation = upkeep.keep_up


def build_activation(namespace_id: int, engine: str, form: str, model: str, *, now: datetime) -> bool:
    """Compute the cache of the namespace's prefix, unless it exists; return whether it did."""
    scope, form_of_prompt = scope_of(namespace_id), PromptForm(form)
    engine_of_cache = ActivationEngine(engine)
    return build.build(scope, engine=engine_of_cache, form=form_of_prompt, model=model, clock=timezone.now) is not None
