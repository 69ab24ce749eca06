"""Erasures, the memories and sessions that they name, and which memories a pack holds.

As with the other tables of tenants the keys begin with the namespace, and `namespace_id` has no statistics (see
`plan_every_tenant_alike`). Packs get their memories in a column of their own: to find those of a memory in their JSON
takes 3.3 s for 20,000 packs, in the column 0.03 s for one memory and 0.6 s for hundreds. A GIN index on it is quicker
for a few memories and slower for hundreds (1.7 s), and every query would keep it up.
"""

import django.contrib.postgres.fields
import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


def _planned_alike(table):
    return migrations.RunSQL(
        f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS 0",
        f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS -1",
    )


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0019_quarantine'),
    ]

    operations = [
        migrations.CreateModel(
            name='ErasedSession',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'erasure_id', 'session', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('erasure_id', models.UUIDField()),
                ('session', models.CharField(db_collation='C', max_length=128)),
                ('first_turn', models.IntegerField()),
                ('state', models.CharField(choices=[('open', 'Open'), ('rebuild', 'Rebuild'), ('done', 'Done')], default='open', max_length=8)),
            ],
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('namespace_id', models.BigIntegerField()),
                ('namespace', models.CharField(max_length=128)),
                ('target', models.CharField(choices=[('memories', 'Memories'), ('session', 'Session'), ('speaker', 'Speaker'), ('namespace', 'Namespace')], max_length=10)),
                ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                ('speaker_digest', models.CharField(blank=True, default='', max_length=64)),
                ('named', models.IntegerField(help_text='Memories that the request named, or its session, speaker or namespace held')),
                ('missing', models.IntegerField(help_text='Those of the named that are not there, or not any more')),
                ('found', models.IntegerField(help_text='Memories to be erased, with the other chunks of their documents')),
                ('documents', models.IntegerField(help_text='Documents that are erased whole')),
                ('reason', models.CharField(max_length=300)),
                ('actor', models.CharField(max_length=150)),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('waiting', 'Waiting'), ('finished', 'Finished'), ('failed', 'Failed')], default='queued', max_length=8)),
                ('waiting_for', models.CharField(blank=True, default='', max_length=200)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('attempts', models.IntegerField(default=0, help_text='Runs that ended in an error')),
                ('cleared_to', models.UUIDField(blank=True, null=True)),
                ('holders', models.JSONField(default=dict)),
                ('summaries', models.IntegerField(default=0, help_text='Summaries made again from what is left')),
                ('proof', models.JSONField(default=dict)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ErasedMemory',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'erasure_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('erasure_id', models.UUIDField()),
                ('memory_id', models.UUIDField()),
            ],
            options={
                'indexes': [models.Index(fields=['namespace_id', 'memory_id'], name='erasedmemory_by_memory')],
            },
        ),
        migrations.AddField(
            model_name='contextpack',
            name='memory_ids',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), db_default=models.Value([], django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)), default=list, help_text='The memories whose text the pack holds: hits and window', size=None),
        ),
        *(_planned_alike(table) for table in ("erasure", "erasedmemory", "erasedsession")),
        # Of the packs that are there already: what the column of a new one says.
        migrations.RunSQL(
            """
            UPDATE memory_contextpack p SET memory_ids = ARRAY(
                SELECT DISTINCT (held.id #>> '{}')::uuid
                FROM (
                    SELECT jsonb_path_query(p.pack, '$.retrieval.raw_chunks[*].id')
                    UNION ALL
                    SELECT jsonb_path_query(p.pack, '$.working_memory.l1_window[*].memory_id')
                ) AS held (id)
            )
            """,
            migrations.RunSQL.noop,
        ),
    ]
