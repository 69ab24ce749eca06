"""How soon a job is begun, and an index by which the queue's next message is found for each priority and namespace.

Jobs of before are normal; their messages are in the lane of the clock, which every version takes from.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0050_training"),
        ("django_q", "0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="priority",
            field=models.SmallIntegerField(
                choices=[(0, "interactive"), (1, "normal"), (2, "bulk")],
                db_default=1,
                default=1,
                help_text="Who waits for it: a person, nobody, or nobody for hours",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state__in", ("queued", "running"))),
                fields=["namespace_id", "priority", "queued_at"],
                name="job_open_by_priority",
            ),
        ),
        # What the queue's broker looks for every ten seconds, settling every minute and the lag whenever it is asked.
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("message_count__gt", models.F("settled_turn"))),
                fields=["namespace", "last_message_at"],
                name="session_unsettled",
            ),
        ),
        # django-q has no index here: with thousands of messages each look for the next one would read all of them.
        migrations.RunSQL(
            "CREATE INDEX memory_queue_due ON django_q_ormq (key, lock, id)", "DROP INDEX memory_queue_due"
        ),
    ]
