"""Of evaluations of one dataset or namespace, one is queued or running: the database holds two requests at once apart."""

from django.db import migrations, models

# Of those that were queued side by side before, the running one or else the oldest goes on; the others say why they
# do not.
_FAIL_DUPLICATES = """
UPDATE memory_evaluationrun other SET status = 'failed', finished_at = now(),
    error = 'The same was queued or running already; this one was ended by an upgrade.'
WHERE status IN ('queued', 'running') AND EXISTS (
    SELECT 1 FROM memory_evaluationrun kept
    WHERE kept.namespace_id = other.namespace_id AND kept.dataset = other.dataset
      AND kept.status IN ('queued', 'running')
      AND (kept.status = 'queued', kept.id) < (other.status = 'queued', other.id)
)
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0015_audit_chain'),
    ]

    operations = [
        migrations.RunSQL(_FAIL_DUPLICATES, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name='evaluationrun',
            constraint=models.UniqueConstraint(
                condition=models.Q(('status__in', ['queued', 'running'])),
                fields=('namespace_id', 'dataset'),
                name='evaluation_open_once',
            ),
        ),
    ]
