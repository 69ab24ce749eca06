"""Files that arrive in parts.

As with the other tables of tenants the keys begin with the namespace, and `namespace_id` has no statistics.
"""

import memory.models.keys
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_upload DROP CONSTRAINT memory_upload_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_upload ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_uploadpart ALTER COLUMN namespace_id SET STATISTICS 0;
"""
_KEYS_BACK = "ALTER TABLE memory_upload DROP CONSTRAINT memory_upload_pkey, ADD PRIMARY KEY (id)"


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0064_records_in_the_admin'),
    ]

    operations = [
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('name', models.CharField(help_text='Of the file, as its sender calls it', max_length=200)),
                ('size', models.BigIntegerField(help_text='In bytes, as announced')),
                ('digest', models.CharField(blank=True, default='', help_text='SHA-256 (hex), if it was announced', max_length=64)),
                ('actor', models.CharField(help_text='Who may send parts of it, and use it', max_length=150)),
                ('created_at', models.DateTimeField()),
                ('used_by', models.UUIDField(null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='UploadPart',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'upload_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('upload_id', models.UUIDField()),
                ('number', models.IntegerField()),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
    ]
