"""The field's words in the schema: IVF lists and codes (before: cells and members), and the queue message of a job.

Rows, storage and row-level security stay with the tables. What Django's renaming leaves goes along: the names of the
tables' keys, the rights that staff were given, and what an erasure that is still open counted in a table. A finished
receipt stays as it was issued.
"""

from django.db import migrations, models

TABLES = (("vectormap", "ivfindex"), ("vectorcell", "ivflist"))
# As Django writes the models' names in rights.
WORDS = {"vectormap": "vector map", "ivfindex": "ivf index", "vectorcell": "vector cell", "ivflist": "ivf list"}


def _rename_keys(table: str, old: str, new: str) -> str:
    # The name of a foreign key ends in a hash that only the database knows.
    return f"""
        DO $$
        DECLARE key_name text;
        BEGIN
            FOR key_name IN
                SELECT conname FROM pg_constraint
                WHERE conrelid = 'memory_{table}'::regclass AND starts_with(conname, 'memory_{old}_')
            LOOP
                EXECUTE format('ALTER TABLE memory_{table} RENAME CONSTRAINT %I TO %I',
                               key_name, replace(key_name, 'memory_{old}_', 'memory_{new}_'));
            END LOOP;
        END $$;
    """


def _rename_rights(old: str, new: str) -> str:
    return f"""
        UPDATE auth_permission
        SET codename = replace(codename, '_{old}', '_{new}'), name = replace(name, '{WORDS[old]}', '{WORDS[new]}')
        WHERE codename IN ('add_{old}', 'change_{old}', 'delete_{old}', 'view_{old}');
    """


def _rename_holder(old: str, new: str) -> str:
    return f"""
        UPDATE memory_erasure
        SET holders = (holders - 'memory_{old}') || jsonb_build_object('memory_{new}', holders -> 'memory_{old}')
        WHERE status <> 'finished' AND holders ? 'memory_{old}';
    """


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0032_unsure_pairs"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.RenameModel("VectorMap", "IVFIndex"),
        migrations.RenameModel("VectorCell", "IVFList"),
        migrations.RenameField("ivflist", "members", "codes"),
        migrations.RenameField("ivflist", "lump", "unsplit_size"),
        migrations.AlterField(
            "ivflist", "size", models.IntegerField(default=0, help_text="How many codes")
        ),
        migrations.AlterField(
            "ivflist",
            "unsplit_size",
            models.IntegerField(default=0, help_text="Codes when it was last found that they cannot be split"),
        ),
        migrations.RenameField("job", "carrier", "queue_message_id"),
        migrations.AlterField(
            "job",
            "queue_message_id",
            models.BigIntegerField(
                blank=True, help_text="The message in django-q's queue that brings it to a worker", null=True
            ),
        ),
        *(migrations.RunSQL(_rename_keys(new, old, new), _rename_keys(new, new, old)) for old, new in TABLES),
        *(migrations.RunSQL(_rename_rights(old, new), _rename_rights(new, old)) for old, new in TABLES),
        *(migrations.RunSQL(_rename_holder(old, new), _rename_holder(new, old)) for old, new in TABLES),
    ]
