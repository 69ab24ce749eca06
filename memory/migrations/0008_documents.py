"""Documents, their chunks, what a chunk stands under, and the answers that repeated document writes get."""

import django.db.models.deletion
import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0007_passages'),
    ]

    operations = [
        migrations.AddField(
            model_name='idempotencyrecord',
            name='answer',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name='memory',
            name='context',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=200),
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('document_id', models.CharField(db_collation='C', max_length=128)),
                ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                ('version', models.IntegerField(default=1)),
                ('title', models.CharField(blank=True, default='', max_length=300)),
                ('source', models.CharField(blank=True, default='', max_length=2000)),
                ('format', models.CharField(choices=[('text', 'Text'), ('markdown', 'Markdown')], default='text', max_length=8)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('characters', models.IntegerField()),
                ('occurred_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='documents', to='memory.namespace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('session', ''), _negated=True), fields=['namespace', 'session'], name='document_of_session')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'document_id'), name='document_name')],
            },
        ),
        migrations.CreateModel(
            name='DocumentChunk',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'document_key', 'index', blank=True, editable=False, primary_key=True, serialize=False)),
                ('document_key', models.UUIDField(help_text="The document's own id")),
                ('index', models.IntegerField()),
                ('start', models.IntegerField()),
                ('end', models.IntegerField()),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('namespace', 'memory'), name='document_chunk_memory')],
            },
        ),
        # A memory takes its chunk row with it, a document all of its rows; the keys are those of `tenant_keys`.
        migrations.RunSQL(
            """
            ALTER TABLE memory_documentchunk
                ADD CONSTRAINT documentchunk_of_memory FOREIGN KEY (namespace_id, memory_id)
                    REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE,
                ADD CONSTRAINT documentchunk_of_document FOREIGN KEY (namespace_id, document_key)
                    REFERENCES memory_document (namespace_id, id) ON DELETE CASCADE;
            ALTER TABLE memory_document ALTER COLUMN namespace_id SET STATISTICS 0;
            ALTER TABLE memory_documentchunk ALTER COLUMN namespace_id SET STATISTICS 0;
            """,
            """
            ALTER TABLE memory_documentchunk
                DROP CONSTRAINT documentchunk_of_memory,
                DROP CONSTRAINT documentchunk_of_document;
            """,
        ),
    ]
