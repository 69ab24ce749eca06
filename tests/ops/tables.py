"""Counts the rows of every table, to show that code has no side effects."""

from __future__ import annotations

from django.apps import apps


def row_counts() -> dict[str, int]:
    """Return row counts by table, for MemOS and the queue, without Django's sessions of logged-in staff."""
    models = [model for label in ("memory", "ops", "django_q") for model in apps.get_app_config(label).get_models()]
    return {model._meta.db_table: model._base_manager.count() for model in models if model._meta.managed}
