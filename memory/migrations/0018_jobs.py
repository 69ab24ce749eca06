"""Background jobs, keyed by their namespace like the other tables of tenants (see `tenant_keys`)."""

import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0016_one_open_evaluation'),
    ]

    operations = [
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField(default=0, help_text='0: the job is of no namespace')),
                ('kind', models.CharField(help_text='A function of memory.tasks', max_length=64)),
                ('arguments', models.JSONField(default=list)),
                ('schedule', models.CharField(blank=True, default='', help_text='Of a run by the clock: its name', max_length=100)),
                ('once', models.BooleanField(default=False, help_text='No second one of the same arguments while it is open')),
                ('seconds', models.IntegerField(blank=True, help_text="What it may take; empty: the server's setting", null=True)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('discarded', 'Discarded')], default='queued', max_length=10)),
                ('attempts', models.IntegerField(default=0)),
                ('done', models.BigIntegerField(blank=True, help_text='Of `total`, as far as the task knows', null=True)),
                ('total', models.BigIntegerField(blank=True, null=True)),
                ('again', models.BooleanField(default=False, help_text='It was asked for again while it ran: it runs once more')),
                ('error_type', models.CharField(blank=True, default='', max_length=100)),
                ('error', models.CharField(blank=True, default='', help_text='First line of the last error', max_length=300)),
                ('reason', models.CharField(blank=True, default='', help_text='Why it was discarded', max_length=500)),
                ('carrier', models.BigIntegerField(blank=True, help_text="Its row in django-q's queue", null=True)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, help_text='Beginning of the last attempt', null=True)),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['namespace_id', '-id'], name='job_recent'), models.Index(condition=models.Q(('state__in', ['queued', 'running', 'failed'])), fields=['state', 'id'], name='job_unfinished'), models.Index(condition=models.Q(('state__in', ('done', 'discarded'))), fields=['finished_at'], name='job_over'), models.Index(condition=models.Q(('schedule', ''), _negated=True), fields=['namespace_id', 'schedule', '-started_at'], name='job_runs_of_schedule')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('once', True), ('state__in', ('queued', 'running'))), fields=('namespace_id', 'kind', 'arguments'), name='job_open_once'), models.UniqueConstraint(condition=models.Q(models.Q(('schedule', ''), _negated=True), ('state__in', ['queued', 'running', 'failed'])), fields=('namespace_id', 'schedule'), name='job_of_schedule_once')],
            },
        ),
        migrations.RunSQL(
            """
            ALTER TABLE memory_job DROP CONSTRAINT memory_job_pkey, ADD PRIMARY KEY (namespace_id, id);
            CREATE INDEX job_by_id ON memory_job (id);
            """,
            "DROP INDEX job_by_id; ALTER TABLE memory_job DROP CONSTRAINT memory_job_pkey, ADD PRIMARY KEY (id);",
        ),
        # Heartbeats rewrite a row every few seconds: with room on its page the indexes stay as they are.
        migrations.RunSQL(
            "ALTER TABLE memory_job SET (fillfactor = 80)", "ALTER TABLE memory_job RESET (fillfactor)"
        ),
    ]
