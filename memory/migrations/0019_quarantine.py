"""What the gate keeps apart, and the count that a daily quota is held against.

By SQL: the key of quarantined items is (namespace_id, id), as in the migration tenant_keys, because the admin shows
them; and `namespace_id` without statistics, as in plan_every_tenant_alike.
"""

import django.db.models.deletion
import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0018_jobs'),
    ]

    operations = [
        migrations.CreateModel(
            name='WritesOfDay',
            fields=[
                ('namespace', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='memory.namespace')),
                ('day', models.DateField()),
                ('memories', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='QuarantinedItem',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                ('role', models.CharField(choices=[('user', 'User'), ('agent', 'Agent'), ('system', 'System'), ('tool', 'Tool')], max_length=8)),
                ('speaker', models.CharField(blank=True, default='', max_length=128)),
                ('text', models.TextField(blank=True, default='')),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('document', models.JSONField(blank=True, default=dict)),
                ('characters', models.IntegerField()),
                ('occurred_at', models.DateTimeField()),
                ('rule', models.CharField(max_length=60)),
                ('reasons', models.JSONField(default=list)),
                ('confidence', models.FloatField(help_text='How sure the gate is of its verdict, 0 to 1')),
                ('content_hash', models.BinaryField(max_length=32)),
                ('state', models.CharField(choices=[('pending', 'waits for a decision'), ('released', 'it is a memory now'), ('discarded', 'its text was deleted')], default='pending', max_length=10)),
                ('reviewer', models.CharField(blank=True, default='', max_length=150)),
                ('note', models.CharField(blank=True, default='', max_length=300)),
                ('reviewed_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='quarantine', to='memory.namespace')),
            ],
            options={
                'indexes': [models.Index(fields=['namespace', 'state', '-id'], name='quarantine_by_state'), models.Index(condition=models.Q(('state', 'pending')), fields=['namespace', 'session'], name='quarantine_of_session')],
            },
        ),
        migrations.RunSQL(
            """
            ALTER TABLE memory_quarantineditem DROP CONSTRAINT memory_quarantineditem_pkey,
                ADD PRIMARY KEY (namespace_id, id);
            CREATE INDEX quarantineditem_by_id ON memory_quarantineditem (id);
            ALTER TABLE memory_quarantineditem ALTER COLUMN namespace_id SET STATISTICS 0;
            """,
            """
            DROP INDEX quarantineditem_by_id;
            ALTER TABLE memory_quarantineditem DROP CONSTRAINT memory_quarantineditem_pkey, ADD PRIMARY KEY (id);
            """,
        ),
    ]
