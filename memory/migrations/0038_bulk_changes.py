"""Changes of many memories at once, and the memories that each is about.

As with the other tables of tenants `namespace_id` has no statistics.
"""

import memory.models.keys
from django.db import migrations, models

_STATISTICS = """
ALTER TABLE memory_bulkchange ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_bulkchangememory ALTER COLUMN namespace_id SET STATISTICS 0;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0037_webhooks'),
    ]

    operations = [
        migrations.CreateModel(
            name='BulkChange',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('namespace_id', models.BigIntegerField()),
                ('verb', models.CharField(choices=[('archive', 'Archive'), ('edit', 'Edit'), ('restore', 'Restore')], max_length=10)),
                ('wanted', models.JSONField(default=dict)),
                ('matched', models.IntegerField(default=0)),
                ('changed', models.IntegerField(default=0)),
                ('unchanged', models.IntegerField(default=0)),
                ('refused', models.IntegerField(default=0)),
                ('refusals', models.JSONField(default=dict, help_text='Error code to how many memories it is of')),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='BulkChangeMemory',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'change_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('change_id', models.UUIDField()),
                ('memory_id', models.UUIDField()),
                ('outcome', models.CharField(choices=[('waiting', 'Waiting'), ('changed', 'Changed'), ('unchanged', 'Unchanged'), ('refused', 'Refused')], default='waiting', max_length=10)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('outcome', 'waiting')), fields=['namespace_id', 'change_id', 'memory_id'], name='bulkchange_waiting'), models.Index(fields=['namespace_id', 'memory_id'], name='bulkchange_by_memory')],
            },
        ),
        migrations.RunSQL(_STATISTICS, migrations.RunSQL.noop),
    ]
