"""A key has a namespace of its own, for requests that name none."""

from django.db import migrations, models

# Keys that reach all namespaces have worked in `mem0` with mem0's clients, and in `memtensor` with MemTensor's: whoever
# has such memories goes on with them.
FILL = """
UPDATE memory_apikey k SET default_namespace = CASE
    WHEN EXISTS (SELECT FROM memory_namespace WHERE name = 'mem0') THEN 'mem0'
    WHEN EXISTS (SELECT FROM memory_namespace WHERE name = 'memtensor') THEN 'memtensor'
    ELSE 'default' END
WHERE k.all_namespaces;
UPDATE memory_apikey k SET default_namespace = (
    SELECT n.name FROM memory_namespace n JOIN memory_apikey_namespaces g ON g.namespace_id = n.id
    WHERE g.apikey_id = k.id)
WHERE NOT k.all_namespaces AND (SELECT count(*) FROM memory_apikey_namespaces g WHERE g.apikey_id = k.id) = 1;
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0072_import_redacted")]

    operations = [
        migrations.AddField(
            "apikey",
            "default_namespace",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of requests that name none",
                max_length=128,
                verbose_name="default namespace",
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
