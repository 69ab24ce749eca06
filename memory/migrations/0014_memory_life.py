"""What becomes of a memory after it was told: how long it holds, what supersedes it, opinions, review, its revision.

As with the other tables of tenants (see `tenant_keys` and `plan_every_tenant_alike`) the database's keys begin with the
namespace, opinions and links go with their memory, and `namespace_id` has no statistics. The new columns of memories
have constant defaults or none, so no row is written anew.
"""

import django.db.models.deletion
import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


def _keyed_by_namespace(table):
    name = f"memory_{table}"
    return migrations.RunSQL(
        f"""
        ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (namespace_id, id);
        ALTER TABLE {name} ALTER COLUMN namespace_id SET STATISTICS 0;
        """,
        f"ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (id);",
    )


def _goes_with_memory(table, column):
    name = f"{table}_of_{column.removesuffix('_id')}"
    return migrations.RunSQL(
        f"""
        ALTER TABLE memory_{table} ADD CONSTRAINT {name} FOREIGN KEY (namespace_id, {column})
            REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
        """,
        f"ALTER TABLE memory_{table} DROP CONSTRAINT {name};",
    )


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0013_summary_triggers'),
    ]

    operations = [
        migrations.CreateModel(
            name='MemoryFeedback',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('useful', 'Useful'), ('wrong', 'Wrong'), ('outdated', 'Outdated')], max_length=10)),
                ('note', models.CharField(blank=True, default='', max_length=500)),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When the actor said so last')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='MemoryLink',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('supersedes', 'Supersedes'), ('restates', 'Restates'), ('contradicts', 'Contradicts')], max_length=12)),
                ('reason', models.CharField(max_length=300)),
                ('confidence', models.FloatField(default=1.0, help_text='0 to 1; what a person or a client says is 1')),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='memory',
            name='pinned',
            field=models.BooleanField(db_default=False, default=False, help_text='No sweep takes it away'),
        ),
        migrations.AddField(
            model_name='memory',
            name='review',
            field=models.CharField(blank=True, choices=[('wrong', 'Wrong'), ('outdated', 'Outdated'), ('contradiction', 'Contradiction')], db_default='', default='', max_length=16),
        ),
        migrations.AddField(
            model_name='memory',
            name='revision',
            field=models.IntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='memory',
            name='superseded_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='memory',
            name='superseded_by',
            field=models.UUIDField(blank=True, help_text='It may be gone: an id outlives its memory here', null=True),
        ),
        migrations.AddField(
            model_name='memory',
            name='valid_from',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='memory',
            name='valid_to',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='memoryversion',
            name='occurred_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='memoryversion',
            name='revision',
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name='memoryversion',
            name='speaker',
            field=models.CharField(max_length=128, null=True),
        ),
        migrations.AddIndex(
            model_name='auditlog',
            index=models.Index(condition=models.Q(('event_type__in', ('INGEST', 'QUERY', 'CONTEXT_PACK')), _negated=True), fields=['namespace_id', 'subject', '-id'], name='audit_of_subject'),
        ),
        migrations.AddIndex(
            model_name='memory',
            index=models.Index(condition=models.Q(('pinned', True)), fields=['namespace', '-id'], name='memory_pinned'),
        ),
        migrations.AddIndex(
            model_name='memory',
            index=models.Index(condition=models.Q(('review', ''), _negated=True), fields=['namespace', '-id'], name='memory_to_review'),
        ),
        migrations.AddField(
            model_name='memoryfeedback',
            name='memory',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='feedback', to='memory.memory'),
        ),
        migrations.AddField(
            model_name='memoryfeedback',
            name='namespace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace'),
        ),
        migrations.AddField(
            model_name='memorylink',
            name='memory',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='links', to='memory.memory'),
        ),
        migrations.AddField(
            model_name='memorylink',
            name='namespace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace'),
        ),
        migrations.AddField(
            model_name='memorylink',
            name='other',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory'),
        ),
        migrations.AddConstraint(
            model_name='memoryfeedback',
            constraint=models.UniqueConstraint(fields=('namespace', 'memory', 'actor'), name='feedback_once_an_actor'),
        ),
        migrations.AddIndex(
            model_name='memorylink',
            index=models.Index(fields=['namespace', 'other'], name='link_by_other'),
        ),
        migrations.AddConstraint(
            model_name='memorylink',
            constraint=models.UniqueConstraint(fields=('namespace', 'memory', 'other', 'kind'), name='link_between_memories'),
        ),
        migrations.AddConstraint(
            model_name='memorylink',
            constraint=models.CheckConstraint(condition=models.Q(('confidence__gte', 0), ('confidence__lte', 1)), name='link_confidence_0_1'),
        ),
        _keyed_by_namespace("memoryfeedback"),
        _keyed_by_namespace("memorylink"),
        _goes_with_memory("memoryfeedback", "memory_id"),
        _goes_with_memory("memorylink", "memory_id"),
        _goes_with_memory("memorylink", "other_id"),
    ]
