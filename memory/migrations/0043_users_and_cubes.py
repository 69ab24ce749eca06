"""Users, cubes and with whom they are shared, and whose a key is.

As with the other tables of tenants the keys begin with the namespace, and `namespace_id` has no statistics.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import memory.models.cube
import memory.models.keys
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_user DROP CONSTRAINT memory_user_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_user ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_usernamespace ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_cube DROP CONSTRAINT memory_cube_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_cube ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_cubeshare ALTER COLUMN namespace_id SET STATISTICS 0;
"""
_KEYS_BACK = """
ALTER TABLE memory_cube DROP CONSTRAINT memory_cube_pkey, ADD PRIMARY KEY (id);
ALTER TABLE memory_user DROP CONSTRAINT memory_user_pkey, ADD PRIMARY KEY (id);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0042_memory_imports'),
    ]

    operations = [
        migrations.CreateModel(
            name='Cube',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='cube', to='memory.namespace')),
                ('name', models.CharField(max_length=128)),
                ('description', models.CharField(blank=True, default='', max_length=1000)),
                ('owner_id', models.UUIDField(blank=True, null=True)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('textual', 'texts that are searched'), ('activation', 'what a language model has computed of a prompt that stays the same'), ('parametric', 'adapters of a language model, trained on memories')], max_length=10), default=memory.models.cube.default_kinds, help_text='The kinds of memory that are on', size=None)),
                ('revision', models.IntegerField(default=1, help_text='Raised by every change')),
                ('created_by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='CubeShare',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'user_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ('user_id', models.UUIDField()),
                ('level', models.CharField(choices=[('read', 'Read'), ('write', 'Write')], max_length=5)),
                ('expires_at', models.DateTimeField(blank=True, help_text='Empty: it does not expire', null=True)),
                ('created_by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ('name', models.CharField(db_collation='C', help_text='Unique in the namespace', max_length=128)),
                ('display_name', models.CharField(blank=True, default='', max_length=128)),
                ('preferences', models.JSONField(blank=True, default=dict)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('revision', models.IntegerField(default=1, help_text='Raised by every change')),
                ('created_by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='UserNamespace',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'user_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ('user_id', models.UUIDField()),
            ],
        ),
        migrations.AddField(
            model_name='apikey',
            name='owner_id',
            field=models.UUIDField(blank=True, editable=False, help_text='The user whose key it is: what is shared with them it reaches', null=True),
        ),
        migrations.AddIndex(
            model_name='apikey',
            index=models.Index(fields=['owner_id'], name='apikey_of_owner'),
        ),
        migrations.AddIndex(
            model_name='cube',
            index=models.Index(fields=['owner_id'], name='cube_of_owner'),
        ),
        migrations.AddIndex(
            model_name='cubeshare',
            index=models.Index(fields=['user_id'], name='cubeshare_of_user'),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.UniqueConstraint(fields=('namespace_id', 'name'), name='user_name_once'),
        ),
        migrations.AddIndex(
            model_name='usernamespace',
            index=models.Index(fields=['user_id'], name='usernamespace_of_user'),
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
    ]
