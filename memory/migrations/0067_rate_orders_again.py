"""Standing orders count for more: what is rated as an episode is rated again, as far as people or systems said it."""

from django.db import migrations

RATE_AGAIN = """
INSERT INTO memory_memoryupkeep (namespace_id, memory_id, stale)
SELECT namespace_id, id, true FROM memory_memory
WHERE turn > 0 AND role IN ('user', 'system') AND importance < 0.40
ON CONFLICT (namespace_id, memory_id) DO UPDATE SET stale = true
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0066_namespaces_made_for_files")]

    operations = [migrations.RunSQL(RATE_AGAIN, migrations.RunSQL.noop)]
