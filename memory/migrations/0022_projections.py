"""Maps of namespaces. A memory's point goes with the memory, however it is deleted. As with the other tables of
tenants, the namespace has no statistics (see `plan_every_tenant_alike`)."""

import django.contrib.postgres.fields
import django.db.models.deletion
import memory.models.keys
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0021_request_minutes'),
    ]

    operations = [
        migrations.CreateModel(
            name='Projection',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'model_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('version', models.UUIDField(default=memory.models.keys.new_id)),
                ('mean', models.BinaryField()),
                ('components', models.BinaryField()),
                ('explained', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                ('centroids', models.BinaryField()),
                ('clusters', models.JSONField(default=list)),
                ('fitted_on', models.IntegerField()),
                ('fitted_of', models.BigIntegerField()),
                ('memories', models.BigIntegerField(help_text='Memories that have a vector')),
                ('read_at', models.DateTimeField()),
                ('placed_at', models.DateTimeField()),
                ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
            ],
        ),
        migrations.CreateModel(
            name='ProjectedMemory',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'model_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('x', models.FloatField()),
                ('y', models.FloatField()),
                ('z', models.FloatField()),
                ('cluster', models.SmallIntegerField()),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
            ],
            options={
                'indexes': [models.Index(fields=['namespace', 'memory'], name='projected_by_memory')],
            },
        ),
        migrations.RunSQL(
            """
            ALTER TABLE memory_projectedmemory ADD CONSTRAINT projectedmemory_of_memory
                FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
            """,
            "ALTER TABLE memory_projectedmemory DROP CONSTRAINT projectedmemory_of_memory;",
        ),
        *(
            migrations.RunSQL(
                f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS 0",
                f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS -1",
            )
            for table in ("projection", "projectedmemory")
        ),
    ]
