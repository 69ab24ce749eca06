"""The tree of a namespace: sessions, their topics, and the topic that each memory belongs to.

A membership goes with its memory, by the database. As with the other tables of tenants the keys begin with the
namespace, and `namespace_id` has no statistics.
"""

import django.db.models.deletion
import django.utils.timezone
import memory.models.keys
import pgvector.django.halfvec
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_topicnode DROP CONSTRAINT memory_topicnode_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_topicmember ADD CONSTRAINT topicmember_of_memory
    FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_topicnode ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_topicmember ALTER COLUMN namespace_id SET STATISTICS 0;
"""
_KEYS_BACK = """
ALTER TABLE memory_topicmember DROP CONSTRAINT topicmember_of_memory;
ALTER TABLE memory_topicnode DROP CONSTRAINT memory_topicnode_pkey, ADD PRIMARY KEY (id);
"""


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0061_cube_file_admin"),
    ]

    operations = [
        migrations.CreateModel(
            name='TopicTree',
            fields=[
                ('namespace', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='memory.namespace')),
                ('version', models.UUIDField(default=memory.models.keys.new_id)),
                ('seen', models.TextField(blank=True, default='')),
                ('looked_at', models.DateTimeField()),
                ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
            ],
        ),
        migrations.CreateModel(
            name='TopicMember',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('topic', models.UUIDField()),
                ('content_hash', models.BinaryField(max_length=32)),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
            ],
            options={
                'indexes': [models.Index(fields=['namespace', 'topic', 'memory'], name='topicmember_of_topic')],
            },
        ),
        migrations.CreateModel(
            name='TopicNode',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('parent', models.UUIDField(blank=True, help_text="The session's node; empty: it is one", null=True)),
                ('level', models.CharField(choices=[('session', 'Session'), ('topic', 'Topic')], max_length=8)),
                ('session', models.CharField(db_collation='C', max_length=128)),
                ('size', models.IntegerField(default=0)),
                ('centroid', pgvector.django.halfvec.HalfVectorField(editable=False, null=True)),
                ('label_places', models.JSONField(default=list)),
                ('summary_places', models.JSONField(default=list)),
                ('stale', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['namespace', 'parent', 'id'], name='topic_children'), models.Index(condition=models.Q(('stale', True)), fields=['namespace', 'level', 'id'], name='topic_stale')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('level', 'session')), fields=('namespace', 'session'), name='topic_of_session')],
            },
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
    ]
