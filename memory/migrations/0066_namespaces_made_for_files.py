"""That a namespace was made for an upload or an import: it goes again when these come to nothing.

Both tables have few rows, and a default that the database gives rewrites none.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0065_uploads")]

    operations = [
        migrations.AddField(
            model_name="upload",
            name="made_namespace",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Whether its namespace was made for it"
            ),
        ),
        migrations.AddField(
            model_name="memoryimport",
            name="made_namespace",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The name of a namespace that was made for it",
                max_length=128,
            ),
        ),
    ]
