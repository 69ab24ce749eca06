"""Webhooks and their deliveries, and the audit log in the order in which a namespace's events are told.

As with the other tables of tenants the keys begin with the namespace, and `namespace_id` has no statistics. The index
of the audit log leaves out the events that every question makes: reading costs nothing more.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import memory.models.keys
import uuid
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_webhook DROP CONSTRAINT memory_webhook_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_webhook ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_webhookdelivery DROP CONSTRAINT memory_webhookdelivery_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_webhookdelivery ALTER COLUMN namespace_id SET STATISTICS 0;
"""
_KEYS_BACK = """
ALTER TABLE memory_webhookdelivery DROP CONSTRAINT memory_webhookdelivery_pkey, ADD PRIMARY KEY (id);
ALTER TABLE memory_webhook DROP CONSTRAINT memory_webhook_pkey, ADD PRIMARY KEY (id);
"""
# `xact` is no column of the model. Building it reads the table once, and writers wait.
_FEED = """
CREATE INDEX audit_of_namespace ON memory_auditlog (namespace_id, xact, id)
    WHERE event_type <> 'QUERY' AND event_type <> 'CONTEXT_PACK';
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0036_facts'),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=2000)),
                ('description', models.CharField(blank=True, default='', max_length=300)),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), default=list, help_text='Empty: all', size=None)),
                ('includes_text', models.BooleanField(default=False)),
                ('secret', models.BinaryField()),
                ('former_secret', models.BinaryField(blank=True, null=True)),
                ('former_until', models.DateTimeField(blank=True, help_text='Until then the former secret signs as well', null=True)),
                ('enabled', models.BooleanField(default=True)),
                ('disabled_why', models.CharField(blank=True, default='', help_text='Empty: by a person, or enabled', max_length=300)),
                ('seen_xact', models.BigIntegerField()),
                ('seen_id', models.UUIDField(default=uuid.UUID('00000000-0000-0000-0000-000000000000'))),
                ('failures', models.IntegerField(default=0, help_text='Attempts in a row that failed')),
                ('failing_since', models.DateTimeField(blank=True, null=True)),
                ('paused_until', models.DateTimeField(blank=True, null=True)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='memory.namespace')),
                ('reader', models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The key on whose behalf texts are sent', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.apikey')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('webhook_id', models.UUIDField()),
                ('event_id', models.UUIDField()),
                ('type', models.CharField(max_length=40)),
                ('memory_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, help_text='The memories whose texts are sent with it', size=None)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('attempts', models.IntegerField(default=0, help_text='Since it was made, or replayed')),
                ('tries', models.JSONField(default=list)),
                ('answer', models.CharField(blank=True, default='', max_length=500)),
                ('next_at', models.DateTimeField(blank=True, help_text='When it is tried; empty: not any more', null=True)),
                ('created_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['namespace_id', 'webhook_id', '-id'], name='delivery_recent'), models.Index(fields=['id'], name='delivery_oldest'), models.Index(condition=models.Q(('state', 'waiting')), fields=['namespace_id', 'webhook_id', 'next_at', 'id'], name='delivery_waiting')],
                'constraints': [models.UniqueConstraint(fields=('namespace_id', 'webhook_id', 'event_id'), name='delivery_once')],
            },
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
        migrations.RunSQL(_FEED, "DROP INDEX audit_of_namespace;"),
    ]
