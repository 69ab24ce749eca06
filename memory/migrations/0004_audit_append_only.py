"""The database itself refuses to change or remove an audit event."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_tenant_keys")]

    operations = [
        migrations.RunSQL(
            """
            CREATE FUNCTION memory_auditlog_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'audit events are append-only: % refused', TG_OP;
            END $$;
            CREATE TRIGGER memory_auditlog_append_only BEFORE UPDATE OR DELETE ON memory_auditlog
                FOR EACH ROW EXECUTE FUNCTION memory_auditlog_is_append_only();
            """,
            """
            DROP TRIGGER memory_auditlog_append_only ON memory_auditlog;
            DROP FUNCTION memory_auditlog_is_append_only();
            """,
        )
    ]
