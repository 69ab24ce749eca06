"""How many rows every table has: what has no side effects leaves them as they were."""

from __future__ import annotations

from django.apps import apps


def row_counts() -> dict[str, int]:
    """By table, of MemOS' own and the queue's; Django's sessions of logged-in staff are left out."""
    models = [model for label in ("memory", "ops", "django_q") for model in apps.get_app_config(label).get_models()]
    return {model._meta.db_table: model._base_manager.count() for model in models if model._meta.managed}
