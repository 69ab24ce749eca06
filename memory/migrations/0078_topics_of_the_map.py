"""Removes the tables of the tree: its topics are the clusters of the map."""

from django.db import migrations

# What migration 0062 adds to the tables that Django makes, for the way back.
_KEYS = """
ALTER TABLE memory_topicnode DROP CONSTRAINT memory_topicnode_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_topicmember ADD CONSTRAINT topicmember_of_memory
    FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_topicnode ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_topicmember ALTER COLUMN namespace_id SET STATISTICS 0;
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0077_jobs_are_the_queue")]

    operations = [
        # No worker knows these any more.
        migrations.RunSQL(
            "DELETE FROM memory_job WHERE kind IN ('grow_tree', 'request_trees')", migrations.RunSQL.noop
        ),
        migrations.RunSQL(migrations.RunSQL.noop, _KEYS),
        migrations.DeleteModel(name="TopicMember"),
        migrations.DeleteModel(name="TopicNode"),
        migrations.DeleteModel(name="TopicTree"),
    ]
