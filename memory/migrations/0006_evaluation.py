"""Evaluation runs, their results and judgements of hits.

As with the other tables of tenants (see `tenant_keys` and `plan_every_tenant_alike`) the database's keys begin with the
namespace, results go with their run and judgements with their memory, and `namespace_id` has no statistics.
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
        CREATE INDEX {table}_by_id ON {name} (id);
        """,
        f"DROP INDEX {table}_by_id; ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (id);",
    )


def _goes_with(table, owner, column):
    return migrations.RunSQL(
        f"""
        ALTER TABLE memory_{table} ADD CONSTRAINT {table}_of_{owner} FOREIGN KEY (namespace_id, {column})
            REFERENCES memory_{owner} (namespace_id, id) ON DELETE CASCADE;
        """,
        f"ALTER TABLE memory_{table} DROP CONSTRAINT {table}_of_{owner};",
    )


def _planned_alike(table):
    return migrations.RunSQL(
        f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS 0",
        f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS -1",
    )


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0005_plan_every_tenant_alike'),
    ]

    operations = [
        migrations.CreateModel(
            name='EvaluationRun',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField(default=0, help_text='0: a dataset was measured, of no namespace')),
                ('namespace', models.CharField(blank=True, default='', max_length=128)),
                ('dataset', models.CharField(blank=True, default='', help_text="Name of the dataset's folder", max_length=255)),
                ('label', models.CharField(blank=True, default='', max_length=100)),
                ('content_digest', models.CharField(blank=True, default='', help_text="SHA-256 of the dataset's files, or of the judgements", max_length=64)),
                ('options', models.JSONField(default=dict, help_text='top_k, types, groups, arms')),
                ('configuration', models.JSONField(default=dict, help_text='Version, embedding model, weights and settings')),
                ('metrics', models.JSONField(default=dict)),
                ('notes', models.JSONField(default=list, help_text='What was left out or cut, in words')),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('error', models.TextField(blank=True, default='')),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['namespace_id', '-id'], name='evaluation_recent')],
            },
        ),
        migrations.CreateModel(
            name='EvaluationResult',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'run_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField(default=0)),
                ('number', models.IntegerField()),
                ('group', models.TextField(blank=True, default='')),
                ('query_id', models.TextField()),
                ('type', models.TextField(blank=True, default='')),
                ('fingerprint', models.CharField(help_text='SHA-256 of the group, the question and its evidence', max_length=64)),
                ('metrics', models.JSONField()),
                ('context_tokens', models.IntegerField()),
                ('milliseconds', models.FloatField()),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='results', to='memory.evaluationrun')),
            ],
        ),
        migrations.CreateModel(
            name='RelevanceJudgement',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('query_text', models.TextField()),
                ('query_hash', models.CharField(max_length=64)),
                ('relevant', models.BooleanField()),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When it was marked last')),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['namespace', '-id'], name='judgement_recent'), models.Index(fields=['namespace', 'memory'], name='judgement_by_memory')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'query_hash', 'memory'), name='judgement_of_memory')],
            },
        ),
        _keyed_by_namespace("evaluationrun"),
        _keyed_by_namespace("relevancejudgement"),
        _goes_with("evaluationresult", "evaluationrun", "run_id"),
        _goes_with("relevancejudgement", "memory", "memory_id"),
        _planned_alike("evaluationresult"),
        _planned_alike("relevancejudgement"),
    ]
