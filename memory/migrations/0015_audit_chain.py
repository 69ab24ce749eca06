"""The audit log becomes a chain: rows carry the number of their transaction, and seals fix what was written.

`xact` gets a constant default first, so that the rows which are there read 0 without being written anew, and then the
one that counts. Its index takes the place of `audit_recent`, which the primary key (namespace_id, id), read backwards,
makes superfluous: an insert keeps as many indexes as it had. Building it reads the table once, and writers wait.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0014_memory_life'),
    ]

    operations = [
        # Not a column of the model: only the database sets it, and the default is changed when the cluster is.
        migrations.RunSQL(
            """
            ALTER TABLE memory_auditlog ADD COLUMN xact bigint NOT NULL DEFAULT 0;
            ALTER TABLE memory_auditlog ALTER COLUMN xact SET DEFAULT (pg_current_xact_id()::text::bigint);
            CREATE INDEX audit_in_order ON memory_auditlog (xact, id);
            """,
            "ALTER TABLE memory_auditlog DROP COLUMN xact;",
        ),
        migrations.RemoveIndex(
            model_name='auditlog',
            name='audit_recent',
        ),
        migrations.CreateModel(
            name='AuditSeal',
            fields=[
                ('number', models.BigIntegerField(primary_key=True, serialize=False)),
                ('previous', models.BinaryField(max_length=32)),
                ('hash', models.BinaryField(max_length=32)),
                ('count', models.IntegerField()),
                ('total', models.BigIntegerField(help_text='Rows of this seal and all before it')),
                ('first_xact', models.BigIntegerField()),
                ('first_id', models.UUIDField()),
                ('last_xact', models.BigIntegerField()),
                ('last_id', models.UUIDField()),
                ('members', models.BinaryField()),
                ('late', models.BooleanField(default=False)),
                ('era', models.IntegerField()),
                ('xact_offset', models.BigIntegerField()),
                ('cluster', models.CharField(max_length=20)),
                ('sealed_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        # `audit_append_only` refuses UPDATE and DELETE of events; here TRUNCATE too, and all three of seals.
        migrations.RunSQL(
            """
            CREATE FUNCTION memory_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'audit events and seals are append-only: % of % refused', TG_OP, TG_TABLE_NAME;
            END $$;
            CREATE TRIGGER memory_auditlog_no_truncate BEFORE TRUNCATE ON memory_auditlog
                FOR EACH STATEMENT EXECUTE FUNCTION memory_audit_is_append_only();
            CREATE TRIGGER memory_auditseal_append_only BEFORE UPDATE OR DELETE ON memory_auditseal
                FOR EACH ROW EXECUTE FUNCTION memory_audit_is_append_only();
            CREATE TRIGGER memory_auditseal_no_truncate BEFORE TRUNCATE ON memory_auditseal
                FOR EACH STATEMENT EXECUTE FUNCTION memory_audit_is_append_only();
            """,
            """
            DROP TRIGGER memory_auditlog_no_truncate ON memory_auditlog;
            DROP TRIGGER memory_auditseal_append_only ON memory_auditseal;
            DROP TRIGGER memory_auditseal_no_truncate ON memory_auditseal;
            DROP FUNCTION memory_audit_is_append_only();
            """,
        ),
    ]
