"""What changed in the index of a namespace and in which transaction, written by triggers.

Rows of one statement are written down at once where many come together (inserts and deletes). Updates mostly touch what
search does not read, so they have a condition a row.
"""

from django.db import migrations, models
import django.db.models.deletion
import django.utils.timezone

_INTO = "INSERT INTO memory_indexchange (namespace_id, transaction, subject, of_alias, created_at)"
_NUMBER = "pg_current_xact_id()::text::bigint"


def _of_statement(name: str, subject: str, of_alias: str) -> str:
    return f"""
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {_INTO} SELECT DISTINCT namespace_id, {_NUMBER}, {subject}, {of_alias}, now() FROM changed ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
"""


def _of_row(name: str, subject: str, of_alias: str) -> str:
    return f"""
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {_INTO} VALUES (NEW.namespace_id, {_NUMBER}, NEW.{subject}, {of_alias}, now()) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
"""


# By table: which column is the subject, whether it is an alias, and what a search reads of a row.
_TABLES = {
    "memory_memory": (
        "id",
        "false",
        "session turn role speaker tokens importance occurred_at state valid_to content_hash length",
    ),
    "memory_memoryvector": ("memory_id", "false", "searchable"),
    "memory_posting": ("memory_id", "false", "frequency length"),
    "memory_entitymention": ("memory_id", "false", "alias active"),
    "memory_entityalias": ("id", "true", "key entity"),
}
_FUNCTIONS = {("id", "false"): "memory", ("memory_id", "false"): "entry", ("id", "true"): "alias"}


def _triggers() -> str:
    statements = []
    for (subject, of_alias), kind in _FUNCTIONS.items():
        statements.append(_of_statement(f"memos_note_changed_{kind}_rows", subject, of_alias))
        statements.append(_of_row(f"memos_note_changed_{kind}", subject, of_alias))
    for table, (subject, of_alias, columns) in _TABLES.items():
        kind = _FUNCTIONS[subject, of_alias]
        differ = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns.split())
        statements.append(f"""
CREATE TRIGGER {table}_index_inserted AFTER INSERT ON {table} REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION memos_note_changed_{kind}_rows();
CREATE TRIGGER {table}_index_deleted AFTER DELETE ON {table} REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION memos_note_changed_{kind}_rows();
CREATE TRIGGER {table}_index_updated AFTER UPDATE ON {table}
    FOR EACH ROW WHEN ({differ}) EXECUTE FUNCTION memos_note_changed_{kind}();
""")
    # The operators of an extension's type are not found while a dump is restored: nothing is compared.
    statements.append("""
CREATE TRIGGER memory_memoryvector_index_embedded AFTER UPDATE OF embedding ON memory_memoryvector
    FOR EACH ROW EXECUTE FUNCTION memos_note_changed_entry();
""")
    return "".join(statements)


def _drop() -> str:
    triggers = [
        f"DROP TRIGGER {table}_index_{event} ON {table};"
        for table in _TABLES
        for event in ("inserted", "deleted", "updated")
    ]
    triggers.append("DROP TRIGGER memory_memoryvector_index_embedded ON memory_memoryvector;")
    functions = [
        f"DROP FUNCTION memos_note_changed_{kind}_rows(); DROP FUNCTION memos_note_changed_{kind}();"
        for kind in _FUNCTIONS.values()
    ]
    return "".join(triggers + functions)


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0039_bulk_change_id"),
    ]

    operations = [
        migrations.CreateModel(
            name="IndexChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace_id", "transaction", "subject", blank=True, editable=False, primary_key=True,
                        serialize=False,
                    ),
                ),
                ("transaction", models.BigIntegerField(help_text="PostgreSQL's number of it, with its epoch")),
                ("subject", models.UUIDField()),
                ("of_alias", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE,
                        related_name="+", to="memory.namespace",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE memory_indexchange ALTER COLUMN namespace_id SET STATISTICS 0;", migrations.RunSQL.noop
        ),
        migrations.RunSQL(_triggers(), _drop()),
    ]
