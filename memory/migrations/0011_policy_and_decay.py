"""Policies of namespaces, and what decay needs to know of a memory.

Memories get no new column: they are wide and every search reads them, so uses, exemptions and the like have a narrow
table. By SQL: a memory's upkeep goes with it, as in the migration tenant_keys; and `namespace_id` without statistics,
as in plan_every_tenant_alike.
"""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0010_large_namespaces_storage'),
    ]

    operations = [
        migrations.CreateModel(
            name='UpkeepMark',
            fields=[
                ('name', models.CharField(max_length=20, primary_key=True, serialize=False)),
                ('position', models.UUIDField(null=True)),
                ('at_namespace', models.BigIntegerField(default=-1)),
                ('trusted_at', models.DateTimeField(null=True)),
                ('doubted_at', models.DateTimeField(null=True)),
                ('seen_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='NamespacePolicy',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'version', blank=True, editable=False, primary_key=True, serialize=False)),
                ('version', models.IntegerField()),
                ('overrides', models.JSONField(default=dict)),
                ('reason', models.CharField(blank=True, default='', max_length=300)),
                ('updated_by', models.CharField(max_length=150)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='policies', to='memory.namespace')),
            ],
        ),
        migrations.CreateModel(
            name='MemoryUpkeep',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('uses', models.IntegerField(db_default=0, default=0, help_text='Packs that carried it')),
                ('last_used_at', models.DateTimeField(null=True)),
                ('restored_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('legal_hold', models.BooleanField(db_default=False, default=False)),
                ('repeats', models.SmallIntegerField(db_default=1, default=1, help_text='Memories with the same text, itself too')),
                ('importance', models.FloatField(null=True)),
                ('stale', models.BooleanField(db_default=False, default=False)),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('stale', True)), fields=['namespace', 'memory'], name='upkeep_stale')],
            },
        ),
        migrations.RunSQL(
            """
            ALTER TABLE memory_memoryupkeep ADD CONSTRAINT memoryupkeep_of_memory
                FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
            """,
            "ALTER TABLE memory_memoryupkeep DROP CONSTRAINT memoryupkeep_of_memory;",
        ),
        *(
            migrations.RunSQL(
                f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS 0",
                f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS -1",
            )
            for table in ("namespacepolicy", "memoryupkeep")
        ),
    ]
