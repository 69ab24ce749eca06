"""Statements that hold no longer, of memories of which the rest does; and how far sessions were looked through for them.

As with the other tables of tenants the key begins with the namespace, the rows go with their memory, and `namespace_id`
has no statistics. The new columns have constant defaults: no row is written anew.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import memory.models.keys
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_retiredstatement DROP CONSTRAINT memory_retiredstatement_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_retiredstatement ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_retiredstatement ADD CONSTRAINT retiredstatement_of_memory FOREIGN KEY (namespace_id, memory_id)
    REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
"""
_KEYS_BACK = """
ALTER TABLE memory_retiredstatement DROP CONSTRAINT retiredstatement_of_memory;
ALTER TABLE memory_retiredstatement DROP CONSTRAINT memory_retiredstatement_pkey, ADD PRIMARY KEY (id);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0017_erasures'),
    ]

    operations = [
        migrations.AddField(
            model_name='memory',
            name='retired_spans',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), db_default=models.Value([], output_field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)), default=list, editable=False, help_text='Start and end, in characters, of each statement that holds no longer (RetiredStatement says why)', size=None),
        ),
        migrations.AddField(
            model_name='session',
            name='settled_turn',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.CreateModel(
            name='RetiredStatement',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('start', models.IntegerField()),
                ('end', models.IntegerField()),
                ('by', models.UUIDField(help_text='It may be gone: an id outlives its memory here')),
                ('by_start', models.IntegerField()),
                ('by_end', models.IntegerField()),
                ('reason', models.CharField(max_length=300)),
                ('confidence', models.FloatField()),
                ('terms', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                ('names', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                ('valid_to', models.DateTimeField()),
                ('retired_at', models.DateTimeField()),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='retired', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
            options={
                'ordering': ['memory_id', 'start'],
                'indexes': [models.Index(fields=['namespace', '-retired_at'], name='statement_by_time')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'start'), name='statement_retired_once'), models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='statement_has_length')],
            },
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
    ]
