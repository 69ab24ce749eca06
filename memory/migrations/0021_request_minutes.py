"""Figures of requests by minute. As with the other tables of tenants, the key begins with the namespace, which has no
statistics (see `plan_every_tenant_alike`)."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0020_retired_statements'),
    ]

    operations = [
        migrations.CreateModel(
            name='RequestMinute',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'minute', 'route', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('minute', models.DateTimeField()),
                ('route', models.CharField(db_collation='C', max_length=100)),
                ('count', models.IntegerField()),
                ('errors', models.IntegerField(help_text='Answered with a status of 400 or more')),
                ('empty_recalls', models.IntegerField(help_text='Queries that brought nothing back')),
                ('latency', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
            ],
            options={'indexes': [models.Index(fields=['minute'], name='requests_of_minute')]},
        ),
        migrations.RunSQL(
            "ALTER TABLE memory_requestminute ALTER COLUMN namespace_id SET STATISTICS 0",
            "ALTER TABLE memory_requestminute ALTER COLUMN namespace_id SET STATISTICS -1",
        ),
    ]
