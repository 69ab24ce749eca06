"""What a hit is made of counts as a change too: processes keep the memories that they have read as hits."""

from django.db import migrations

_FORMER = "session turn role speaker tokens importance occurred_at state valid_to content_hash length"
_COLUMNS = f"{_FORMER} metadata tier created_at terms retired_spans review"

_LINK = """
CREATE FUNCTION memos_note_linked_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory_indexchange (namespace_id, transaction, subject, of_alias, created_at)
    VALUES (NEW.namespace_id, pg_current_xact_id()::text::bigint, NEW.other_id, false, now()) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER memory_memorylink_index_inserted AFTER INSERT ON memory_memorylink
    FOR EACH ROW WHEN (NEW.kind = 'supersedes' AND NEW.start IS NOT NULL)
    EXECUTE FUNCTION memos_note_linked_memory();
CREATE TRIGGER memory_memorylink_index_updated AFTER UPDATE ON memory_memorylink
    FOR EACH ROW WHEN (NEW.kind = 'supersedes' AND NEW.start IS NOT NULL)
    EXECUTE FUNCTION memos_note_linked_memory();
"""
_NO_LINK = """
DROP TRIGGER memory_memorylink_index_inserted ON memory_memorylink;
DROP TRIGGER memory_memorylink_index_updated ON memory_memorylink;
DROP FUNCTION memos_note_linked_memory();
"""


def _of_memory(columns: str) -> str:
    differ = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns.split())
    return f"""
DROP TRIGGER memory_memory_index_updated ON memory_memory;
CREATE TRIGGER memory_memory_index_updated AFTER UPDATE ON memory_memory
    FOR EACH ROW WHEN ({differ}) EXECUTE FUNCTION memos_note_changed_memory();
"""


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0042_memory_imports"),
    ]

    operations = [
        migrations.RunSQL(_of_memory(_COLUMNS), _of_memory(_FORMER)),
        migrations.RunSQL(_LINK, _NO_LINK),
    ]
