"""Cubes' files get one key to Django, which its admin needs; to the database it stays (namespace_id, id)."""

import memory.models.keys
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0053_hit_changes"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(model_name="cubefile", name="pk"),
                migrations.AlterField(
                    model_name="cubefile",
                    name="id",
                    field=models.UUIDField(
                        default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
            ],
        ),
    ]
