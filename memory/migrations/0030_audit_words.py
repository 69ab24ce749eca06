"""What people type into audit events, beside them. As with the other tables of tenants, the namespace has no
statistics (see `plan_every_tenant_alike`). What was typed before stays in its event, which cannot be changed."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("memory", "0029_link_words")]

    operations = [
        migrations.CreateModel(
            name='AuditWords',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'event_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('event_id', models.UUIDField()),
                ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                ('memory_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ('words', models.JSONField()),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE memory_auditwords ALTER COLUMN namespace_id SET STATISTICS 0",
            "ALTER TABLE memory_auditwords ALTER COLUMN namespace_id SET STATISTICS -1",
        ),
    ]
