"""Cubes' files: dumps and loads, how far they are, and the files while they are needed.

As with the other tables of tenants `namespace_id` has no statistics.
"""

import memory.models.keys
from django.db import migrations, models


_STATISTICS = """
ALTER TABLE memory_cubefile ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_cubefilepart ALTER COLUMN namespace_id SET STATISTICS 0;
"""


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0044_user_erasures"),
    ]

    operations = [
        migrations.CreateModel(
            name='CubeFile',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('namespace_id', models.BigIntegerField()),
                ('kind', models.CharField(choices=[('dump', 'Dump'), ('load', 'Load')], max_length=4)),
                ('name', models.CharField(help_text='Of the file', max_length=200)),
                ('options', models.JSONField(default=dict)),
                ('dry_run', models.BooleanField(default=False)),
                ('size', models.BigIntegerField(default=0, help_text='In bytes')),
                ('digest', models.CharField(blank=True, default='', help_text='SHA-256 (hex) of the file', max_length=64)),
                ('manifest', models.JSONField(default=dict)),
                ('signature', models.CharField(blank=True, default='', max_length=10)),
                ('part', models.CharField(blank=True, default='', max_length=20)),
                ('line', models.IntegerField(default=0)),
                ('done', models.IntegerField(default=0, help_text='Of a load, lines dealt with; of a dump, memories written')),
                ('total', models.IntegerField(default=0)),
                ('counts', models.JSONField(default=dict)),
                ('listed', models.JSONField(default=list)),
                ('faults', models.JSONField(default=list)),
                ('problem', models.CharField(blank=True, default='', help_text='Why it was refused after all', max_length=500)),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='CubeFilePart',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'file_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('file_id', models.UUIDField()),
                ('number', models.IntegerField()),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.RunSQL(_STATISTICS, migrations.RunSQL.noop),
    ]
