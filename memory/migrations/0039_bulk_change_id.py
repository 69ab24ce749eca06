"""Bulk changes are shown in the admin, which takes no composite key: the model is keyed by `id`, as Django sees it.

The database keeps (namespace_id, id). Look-ups by id alone (the admin's) use a plain index.
"""

import memory.models.keys
from django.db import migrations, models

_BY_ID = "CREATE INDEX bulkchange_by_id ON memory_bulkchange (id);"


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0038_bulk_changes'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_BY_ID, "DROP INDEX bulkchange_by_id;")],
            state_operations=[
                migrations.AlterField(
                    model_name='bulkchange',
                    name='id',
                    field=models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False),
                ),
                migrations.RemoveField(
                    model_name='bulkchange',
                    name='pk',
                ),
            ],
        ),
    ]
