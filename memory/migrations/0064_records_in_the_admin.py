"""Imports, documents, data sets, adapters and receipts of users get one key to Django, which its admin needs.

To the database it stays (namespace_id, id). A document's page is looked up by its id alone.
"""

from django.db import migrations, models

import memory.models.keys

MODELS = ("memoryimport", "document", "trainingdataset", "adapter")


def single_key(model: str) -> list[migrations.operations.base.Operation]:
    field = models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)
    return [
        migrations.RemoveField(model_name=model, name="pk"),
        migrations.AlterField(model_name=model, name="id", field=field),
    ]


class Migration(migrations.Migration):
    dependencies = [("memory", "0063_kinds_of_trained_cubes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(operation for model in MODELS for operation in single_key(model)),
                migrations.RemoveField(model_name="usererasure", name="pk"),
                migrations.AlterField(
                    model_name="usererasure",
                    name="user_id",
                    field=models.UUIDField(primary_key=True, serialize=False),
                ),
            ],
        ),
        migrations.RunSQL("CREATE INDEX document_by_id ON memory_document (id)", "DROP INDEX document_by_id"),
    ]
