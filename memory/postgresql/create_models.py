"""An operation of migrations that creates many tables."""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel
from django.db.migrations.operations.base import Operation, OperationCategory
from django.db.migrations.state import ProjectState


class CreateModels(Operation):
    """Creates models one after the other, and has Django build their classes once.

    Each `CreateModel` by itself makes Django rebuild the class of every model that a relation leads to.
    """

    category = OperationCategory.ADDITION
    atomic = True

    def __init__(self, *models: CreateModel) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        # These are the classes: Django builds them again when they are asked for.
        vars(state).pop("apps", None)
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create {len(self.models)} models"
