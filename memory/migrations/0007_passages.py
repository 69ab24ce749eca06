"""A memory may have several vectors under one model: one for each passage of its text.

Vectors of memories that may be longer than a passage were made of their beginning only. They go, and the worker makes
those of all passages (until then such memories are found by their words). Not by `reembed`, which makes what is
missing. `octet_length > 150` holds for every text of more than one passage, and for some that have one.
"""

import django.db.models
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0006_evaluation")]

    operations = [
        # Django cannot change a composite key, so the tables are told by SQL and Django is told of it.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    """
                    ALTER TABLE memory_memoryvector ADD COLUMN passage smallint NOT NULL DEFAULT 0;
                    ALTER TABLE memory_memoryvector DROP CONSTRAINT memory_memoryvector_pkey,
                        ADD PRIMARY KEY (namespace_id, model_id, memory_id, passage);
                    """,
                    """
                    DELETE FROM memory_memoryvector WHERE passage > 0;
                    ALTER TABLE memory_memoryvector DROP CONSTRAINT memory_memoryvector_pkey,
                        ADD PRIMARY KEY (namespace_id, model_id, memory_id);
                    ALTER TABLE memory_memoryvector DROP COLUMN passage;
                    """,
                )
            ],
            state_operations=[
                migrations.AddField(
                    model_name="memoryvector",
                    name="passage",
                    field=django.db.models.SmallIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="memoryvector",
                    name="pk",
                    field=django.db.models.CompositePrimaryKey(
                        "namespace_id", "model_id", "memory_id", "passage",
                        blank=True, editable=False, primary_key=True, serialize=False,
                    ),
                ),
            ],
        ),
        migrations.RunSQL(
            """
            DELETE FROM memory_memoryvector v USING memory_memory m
            WHERE m.namespace_id = v.namespace_id AND m.id = v.memory_id AND octet_length(m.text) > 150;
            """,
            migrations.RunSQL.noop,
        ),
    ]
