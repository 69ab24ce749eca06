"""An import says how many messages its file has, and which parts of them and which files it leaves out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0067_rate_orders_again")]

    operations = [
        migrations.AddField(
            "memoryimport",
            "messages",
            models.IntegerField(db_default=0, default=0, help_text="Of the file, as its reader counts them"),
        ),
        migrations.AddField(
            "memoryimport",
            "parts_left_out",
            models.JSONField(
                db_default={},
                default=dict,
                help_text="Kind to how many parts of messages that are turns, and files of a zip",
            ),
        ),
    ]
