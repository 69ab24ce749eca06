"""Large namespaces are searched by pgvector's HNSW indexes: the lists of vectors that MemOS kept itself go.

An erasure that is still open has counted codes in a table that is gone. A finished receipt stays as it was issued.
"""

from django.db import migrations

_DROP_HOLDER = """
UPDATE memory_erasure SET holders = holders - 'memory_ivflist' WHERE status <> 'finished' AND holders ? 'memory_ivflist';
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0075_import_notes")]

    operations = [
        migrations.RunSQL(_DROP_HOLDER, migrations.RunSQL.noop),
        migrations.DeleteModel("IVFList"),
        migrations.DeleteModel("IVFIndex"),
        migrations.RemoveIndex("memoryvector", "memoryvector_unfiled"),
        migrations.RemoveField("memoryvector", "filed"),
    ]
