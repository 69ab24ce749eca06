"""Removes the tables of the tree: topics are the clusters of the map."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0077_jobs_are_the_queue")]

    operations = [
        migrations.DeleteModel(name="TopicMember"),
        migrations.DeleteModel(name="TopicNode"),
        migrations.DeleteModel(name="TopicTree"),
    ]
