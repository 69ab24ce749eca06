"""Receipts of users who were erased."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0043_users_and_cubes'),
    ]

    operations = [
        migrations.CreateModel(
            name='UserErasure',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'user_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('user_id', models.UUIDField()),
                ('reason', models.CharField(max_length=300)),
                ('erasures', models.JSONField(default=list)),
                ('keys_revoked', models.IntegerField(default=0)),
                ('shares_ended', models.IntegerField(default=0)),
                ('cubes_disowned', models.IntegerField(default=0)),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE memory_usererasure ALTER COLUMN namespace_id SET STATISTICS 0;", migrations.RunSQL.noop
        ),
    ]
