"""Files that are taken in, while they are needed, and which turns of them came.

As with the other tables of tenants `namespace_id` has no statistics.
"""

import memory.models.keys
from django.db import migrations, models


_STATISTICS = """
ALTER TABLE memory_memoryimport ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_importpart ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_importedturn ALTER COLUMN namespace_id SET STATISTICS 0;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0041_session_by_time'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImportedTurn',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('key', models.UUIDField()),
                ('memory_id', models.UUIDField()),
            ],
        ),
        migrations.CreateModel(
            name='ImportPart',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'import_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('import_id', models.UUIDField()),
                ('number', models.IntegerField()),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='MemoryImport',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('namespace_id', models.BigIntegerField()),
                ('name', models.CharField(help_text='Of the file, as its sender calls it', max_length=200)),
                ('format', models.CharField(choices=[('chatgpt', 'ChatGPT'), ('claude', 'Claude'), ('gemini', 'Gemini'), ('mem0', 'mem0'), ('hindsight', 'hindsight'), ('pam', 'Portable AI Memory 1.0'), ('pasted', 'lines of `date - memory`')], max_length=10)),
                ('speaker', models.CharField(help_text='Who said what the user said; empty: nobody is named', max_length=128)),
                ('size', models.BigIntegerField(help_text='In bytes')),
                ('conversations', models.IntegerField(default=0)),
                ('turns', models.IntegerField(default=0)),
                ('first_at', models.DateTimeField(null=True)),
                ('last_at', models.DateTimeField(null=True)),
                ('left_out', models.JSONField(default=dict, help_text='Reason to how many turns were left out on purpose')),
                ('unreadable', models.IntegerField(default=0)),
                ('faults', models.JSONField(default=list, help_text='The first of what cannot be read: place and reason')),
                ('dealt_with', models.IntegerField(default=0)),
                ('new', models.IntegerField(default=0)),
                ('present', models.IntegerField(default=0)),
                ('gone', models.IntegerField(default=0)),
                ('quarantined', models.IntegerField(default=0)),
                ('rejected', models.IntegerField(default=0)),
                ('degraded', models.JSONField(default=list)),
                ('problem', models.CharField(help_text='Why the file was refused after all', max_length=500)),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.RunSQL(_STATISTICS, migrations.RunSQL.noop),
    ]
