"""A file says what was guessed when it was read, and what of it was left out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0070_mem0_project")]

    operations = [
        migrations.AddField(
            "documentfile",
            "notes",
            models.JSONField(
                blank=True, db_default=[], default=list, help_text="What was guessed or left out, in sentences"
            ),
        ),
    ]
