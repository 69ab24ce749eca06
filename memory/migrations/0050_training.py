"""Data sets to train models on, the memories that they have learnt, and the adapters that were trained.

As with the other tables of tenants `namespace_id` has no statistics.
"""

import django.contrib.postgres.fields
import memory.models.keys
from django.db import migrations, models


_STATISTICS = """
ALTER TABLE memory_trainingdataset ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_trainingpart ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_trainingsource ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_adapter ALTER COLUMN namespace_id SET STATISTICS 0;
"""


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0049_activation"),
    ]

    operations = [
        migrations.CreateModel(
            name='TrainingDataset',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('namespace_id', models.BigIntegerField()),
                ('options', models.JSONField(default=dict)),
                ('manifest', models.JSONField(default=dict)),
                ('problem', models.CharField(help_text='Why nothing was made', max_length=500)),
                ('rebuild_of', models.UUIDField(null=True)),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(null=True)),
                ('dropped_at', models.DateTimeField(help_text='When its files were deleted', null=True)),
                ('stale_at', models.DateTimeField(help_text='When a memory of it was first seen not to be as it was', null=True)),
                ('stale', models.JSONField(default=dict, help_text='Reason to how many memories')),
                ('erasures', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='TrainingPart',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'dataset_id', 'file', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('dataset_id', models.UUIDField()),
                ('file', models.CharField(choices=[('sft', 'Sft'), ('preference', 'Preference'), ('evaluation', 'Evaluation')], max_length=10)),
                ('number', models.IntegerField()),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='Adapter',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('namespace_id', models.BigIntegerField()),
                ('name', models.CharField(max_length=64)),
                ('dataset_id', models.UUIDField()),
                ('options', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('training', 'Training'), ('candidate', 'Candidate'), ('active', 'Active'), ('refused', 'Refused'), ('stale', 'Stale'), ('retired', 'Retired')], default='training', max_length=10)),
                ('problem', models.CharField(help_text='Why it is refused, stale or not rebuilt', max_length=500)),
                ('base_model', models.CharField(help_text='Name of the folder or file', max_length=200)),
                ('base_sha256', models.CharField(max_length=64)),
                ('files', models.JSONField(default=dict)),
                ('metrics', models.JSONField(default=dict)),
                ('refusals', models.JSONField(default=list)),
                ('served_by', models.JSONField(default=list)),
                ('rebuild', models.BooleanField(default=False)),
                ('erasures', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('trained_at', models.DateTimeField(null=True)),
                ('activated_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['namespace_id', 'dataset_id'], name='adapter_by_dataset')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('namespace_id', 'name'), name='adapter_active_once')],
            },
        ),
        migrations.CreateModel(
            name='TrainingSource',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'dataset_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('dataset_id', models.UUIDField()),
                ('memory_id', models.UUIDField()),
                ('fingerprint', models.BinaryField(max_length=32)),
                ('superseded', models.BooleanField()),
            ],
            options={
                'indexes': [models.Index(fields=['namespace_id', 'memory_id'], name='trainingsource_by_memory')],
            },
        ),
        migrations.RunSQL(_STATISTICS, migrations.RunSQL.noop),
    ]
