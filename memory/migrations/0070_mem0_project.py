"""A namespace keeps the settings of a project of mem0's clients."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0069_compose_names")]

    operations = [
        migrations.AddField(
            "namespace",
            "mem0_project",
            models.JSONField(
                db_default={}, default=dict, help_text="Settings of a project that mem0's clients store and read back"
            ),
        ),
    ]
