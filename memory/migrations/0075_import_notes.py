"""An import says what was guessed when its file was read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0074_compose_sessions")]

    operations = [
        migrations.AddField(
            "memoryimport",
            "notes",
            models.JSONField(db_default=[], default=list, help_text="What was guessed when it was read, in sentences"),
        ),
    ]
