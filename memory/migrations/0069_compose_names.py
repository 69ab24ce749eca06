"""Names of namespaces and speakers in the one form of Unicode (NFC) in which they are looked up."""

from django.db import migrations

# A name whose composed form is taken stays as it is.
COMPOSE_NAMESPACES = """
UPDATE memory_namespace n SET name = normalize(n.name, NFC)
WHERE n.name IS NOT NFC NORMALIZED
  AND NOT EXISTS (
      SELECT 1 FROM memory_namespace o WHERE o.id <> n.id AND normalize(o.name, NFC) = normalize(n.name, NFC)
  )
"""
COMPOSE_SPEAKERS = """
UPDATE memory_memory SET speaker = normalize(speaker, NFC) WHERE speaker IS NOT NFC NORMALIZED
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0068_import_messages")]

    operations = [
        migrations.RunSQL(COMPOSE_NAMESPACES, migrations.RunSQL.noop),
        migrations.RunSQL(COMPOSE_SPEAKERS, migrations.RunSQL.noop),
    ]
