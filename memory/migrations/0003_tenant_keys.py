"""Primary keys that a tenant's namespace leads, so that the tables can be spread by it (Citus) without a redesign.

Django 5.2 cannot name a composite key on a model that its admin shows, so the models keep `id` as their key and the
database holds (namespace_id, id). Look-ups by id alone (the admin's) use a plain index. The postings' key carries what
BM25 reads, so that a search never visits the table; no foreign key guards them, for its check would cost more than
writing them: services remove postings with their memory.
"""

from django.db import migrations

KEYED_BY_ID = ("memory", "memoryversion", "condensation", "contextpack", "auditlog")
OF_A_MEMORY = ("memoryvector", "memoryversion")


def _swap_key(table: str) -> migrations.RunSQL:
    name = f"memory_{table}"
    return migrations.RunSQL(
        f"""
        ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (namespace_id, id);
        CREATE INDEX {table}_by_id ON {name} (id);
        """,
        f"DROP INDEX {table}_by_id; ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (id);",
    )


def _belongs_to_memory(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"""
        ALTER TABLE memory_{table} ADD CONSTRAINT {table}_of_memory FOREIGN KEY (namespace_id, memory_id)
            REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
        """,
        f"ALTER TABLE memory_{table} DROP CONSTRAINT {table}_of_memory;",
    )


class Migration(migrations.Migration):
    dependencies = [("memory", "0002_tables")]

    operations = [
        *(_swap_key(table) for table in KEYED_BY_ID),
        *(_belongs_to_memory(table) for table in OF_A_MEMORY),
        migrations.RunSQL(
            """
            ALTER TABLE memory_posting DROP CONSTRAINT memory_posting_pkey,
                ADD PRIMARY KEY (namespace_id, term, memory_id) INCLUDE (frequency, length);
            """,
            """
            ALTER TABLE memory_posting DROP CONSTRAINT memory_posting_pkey,
                ADD PRIMARY KEY (namespace_id, term, memory_id);
            """,
        ),
        # Finds a memory's vectors of every model when it is deleted.
        migrations.RunSQL(
            "CREATE INDEX memoryvector_by_memory ON memory_memoryvector (namespace_id, memory_id);",
            "DROP INDEX memoryvector_by_memory;",
        ),
    ]
