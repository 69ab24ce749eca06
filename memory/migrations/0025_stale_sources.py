"""What settling did is seen and taken back: memories whose summaries are stale, and where settling was turned off.

As with the other tables of tenants the key begins with the namespace, the rows go with their memory, and `namespace_id`
has no statistics. The new column is null: no row is written anew. The indexes find what a newer memory did to earlier
ones, and what was done lately.
"""

import django.utils.timezone
from django.db import migrations, models

_KEYS = """
ALTER TABLE memory_stalesource ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_stalesource ADD CONSTRAINT stalesource_of_memory FOREIGN KEY (namespace_id, memory_id)
    REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
"""
_KEYS_BACK = """
ALTER TABLE memory_stalesource DROP CONSTRAINT stalesource_of_memory;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0024_embedded'),
    ]

    operations = [
        migrations.CreateModel(
            name='StaleSource',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'session', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('session', models.CharField(db_collation='C', max_length=128)),
                ('memory_id', models.UUIDField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
        migrations.AddField(
            model_name='session',
            name='skipped_turn',
            field=models.IntegerField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='condensation',
            name='trigger_reason',
            field=models.CharField(choices=[('bootstrap_summary', 'Bootstrap'), ('new_messages_threshold', 'New Messages'), ('new_tokens_threshold', 'New Tokens'), ('idle_session', 'Idle'), ('stale_source', 'Stale')], max_length=40),
        ),
        migrations.AlterField(
            model_name='memorylink',
            name='kind',
            field=models.CharField(choices=[('supersedes', 'Supersedes'), ('restates', 'Restates'), ('contradicts', 'Contradicts'), ('both_hold', 'Both Hold')], max_length=12),
        ),
        migrations.AddIndex(
            model_name='memory',
            index=models.Index(condition=models.Q(('superseded_by__isnull', False)), fields=['namespace', 'superseded_by'], name='memory_by_successor'),
        ),
        migrations.AddIndex(
            model_name='memory',
            index=models.Index(condition=models.Q(('superseded_by__isnull', False)), fields=['-superseded_at'], name='memory_superseded_newest'),
        ),
        migrations.AddIndex(
            model_name='retiredstatement',
            index=models.Index(fields=['namespace', 'by'], name='statement_by_newer'),
        ),
        migrations.AddIndex(
            model_name='retiredstatement',
            index=models.Index(condition=models.Q(('withdrawn_at', None)), fields=['-retired_at'], name='statement_newest'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('skipped_turn__isnull', False)), fields=['namespace'], name='session_skipped'),
        ),
    ]
