"""An import says in how many memories the gate put marks in the place of secrets."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0071_notes_of_files")]

    operations = [
        migrations.AddField(
            "memoryimport",
            "redacted",
            models.IntegerField(db_default=0, default=0, help_text="New memories with marks in place of secrets"),
        ),
    ]
