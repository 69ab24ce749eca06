"""When a job is due stands in its row, from which workers take it: messages that named jobs are no longer needed.

What django-q2 noted of messages may name sessions. The runs of schedules are queued again when they are due.
"""

import django.db.models.functions.datetime
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0076_hnsw_only"),
        ("django_q", "0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="due_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(),
                default=django.utils.timezone.now,
                help_text="When a worker may begin it",
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="traceparent",
            field=models.CharField(blank=True, db_default="", default="", help_text="Who asked for it", max_length=55),
        ),
        migrations.RemoveField(model_name="job", name="queue_message_id"),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(help_text="A function of one of the modules named `tasks`", max_length=64),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state__in", ("queued", "running"))),
                fields=["priority", "namespace_id", "due_at"],
                name="job_due",
            ),
        ),
        migrations.RunSQL(
            "DROP INDEX memory_queue_due", "CREATE INDEX memory_queue_due ON django_q_ormq (key, lock, id)"
        ),
        migrations.RunSQL("DELETE FROM django_q_ormq; DELETE FROM django_q_task", migrations.RunSQL.noop),
    ]
