"""Pairs of statements that the rules of settling are unsure of, for a language model to judge.

As with the other tables of tenants the key begins with the namespace, the rows go with either memory, and
`namespace_id` has no statistics.
"""

import django.db.models.deletion
import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_unsurepair DROP CONSTRAINT memory_unsurepair_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_unsurepair ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_unsurepair ADD CONSTRAINT unsurepair_of_newer FOREIGN KEY (namespace_id, newer_id)
    REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_unsurepair ADD CONSTRAINT unsurepair_of_older FOREIGN KEY (namespace_id, older_id)
    REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
"""
_KEYS_BACK = """
ALTER TABLE memory_unsurepair DROP CONSTRAINT unsurepair_of_older, DROP CONSTRAINT unsurepair_of_newer;
ALTER TABLE memory_unsurepair DROP CONSTRAINT memory_unsurepair_pkey, ADD PRIMARY KEY (id);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0030_audit_words'),
    ]

    operations = [
        migrations.CreateModel(
            name='UnsurePair',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('start', models.IntegerField()),
                ('end', models.IntegerField()),
                ('by_start', models.IntegerField()),
                ('by_end', models.IntegerField()),
                ('can_cut', models.BooleanField()),
                ('reason', models.CharField(max_length=300)),
                ('confidence', models.FloatField()),
                ('texts_hash', models.BinaryField(max_length=32)),
                ('attempts', models.IntegerField(default=0)),
                ('due_at', models.DateTimeField()),
                ('verdict', models.CharField(blank=True, choices=[('replaces', 'the newer one takes the place of the older'), ('both_hold', 'both hold'), ('refused', 'the answer did not stand the check'), ('unanswered', 'the model did not answer, however often it was asked')], default='', max_length=10)),
                ('explanation', models.CharField(blank=True, default='', max_length=300)),
                ('judge', models.CharField(blank=True, default='', max_length=100)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('judged_at', models.DateTimeField(blank=True, null=True)),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ('newer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('older', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['namespace', 'older'], name='pair_by_older'), models.Index(condition=models.Q(('verdict', '')), fields=['due_at'], name='pair_due'), models.Index(fields=['verdict'], name='pair_by_verdict')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'newer', 'older', 'start'), name='pair_asked_once'), models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='pair_has_words')],
            },
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
    ]
