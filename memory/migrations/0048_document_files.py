"""Files that documents are read from, and their bytes while they are needed.

To the database a file's key is (namespace_id, id), as with the other tables of tenants, to Django `id`. What belongs to
a document goes with it, and the bytes with their file. `namespace_id` has no statistics, as elsewhere.
"""

import memory.models.keys
from django.db import migrations, models

_TYPES = [('pdf', 'PDF'), ('docx', 'Word'), ('pptx', 'PowerPoint'), ('xlsx', 'Excel'), ('image', 'image'), ('html', 'HTML'), ('markdown', 'Markdown'), ('eml', 'e-mail'), ('csv', 'CSV'), ('json', 'JSON'), ('text', 'text')]
_REFUSALS = [('empty', 'it holds nothing'), ('unsupported', 'it is of no kind that is read'), ('mislabelled', 'its name says that it is something else'), ('encoding', 'its text is in an encoding that is not read'), ('encrypted', 'it has a password'), ('damaged', 'it is cut off, or otherwise not what its kind should be'), ('bomb', 'it would grow beyond every limit when it is read'), ('unsafe_xml', 'it declares XML entities'), ('too_large', 'it has more pages, text or levels than are read'), ('no_text', 'there is no text in it'), ('memory', 'reading it takes too much memory'), ('cpu_time', 'reading it takes too much CPU time'), ('wall_time', 'reading it takes too long'), ('crashed', 'its parser broke down'), ('parser_missing', 'the worker lacks the parser for it'), ('ocr_missing', 'images are read where OCR is set up'), ('gate', 'the gate rejects it, or keeps it in the quarantine'), ('outdated', 'a newer version of the document came before it was read'), ('erased', 'an erasure has taken it, or a part of the document, away'), ('refused', 'the document cannot be stored: `problem` says why')]


def _fields(key):
    return [
        *key,
        ('namespace_id', models.BigIntegerField()),
        ('document_id', models.CharField(db_collation='C', help_text="The client's name of the document", max_length=128)),
        ('document_key', models.UUIDField(blank=True, help_text="The document's own id; empty: it became none", null=True)),
        ('document_version', models.IntegerField(blank=True, null=True)),
        ('name', models.CharField(blank=True, help_text='Of the file, as its sender calls it', max_length=200)),
        ('type', models.CharField(choices=_TYPES, max_length=8)),
        ('size', models.BigIntegerField(help_text='In bytes')),
        ('content_key', models.CharField(max_length=64)),
        ('title', models.CharField(blank=True, default='', max_length=300)),
        ('source', models.CharField(blank=True, default='', max_length=2000)),
        ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
        ('metadata', models.JSONField(blank=True, default=dict)),
        ('occurred_at', models.DateTimeField(blank=True, null=True)),
        ('keep_original', models.BooleanField(default=False)),
        ('parser', models.CharField(blank=True, default='', help_text='With its version', max_length=60)),
        ('pages', models.IntegerField(blank=True, null=True)),
        ('tables', models.IntegerField(blank=True, null=True)),
        ('characters', models.IntegerField(blank=True, null=True)),
        ('chunks', models.IntegerField(blank=True, null=True)),
        ('seconds', models.FloatField(blank=True, help_text='That reading it took', null=True)),
        ('peak_bytes', models.BigIntegerField(blank=True, help_text='Most memory of the process that read it', null=True)),
        ('verdict', models.CharField(blank=True, default='', help_text='Of the gate', max_length=20)),
        ('reasons', models.JSONField(blank=True, default=list)),
        ('quarantine_id', models.UUIDField(blank=True, null=True)),
        ('degraded', models.JSONField(blank=True, default=list)),
        ('refusal', models.CharField(blank=True, choices=_REFUSALS, default='', max_length=16)),
        ('problem', models.CharField(blank=True, default='', max_length=500)),
        ('actor', models.CharField(max_length=150)),
        ('created_at', models.DateTimeField()),
        ('asked_at', models.DateTimeField(help_text='When it was given, or last to be read anew')),
        ('finished_at', models.DateTimeField(blank=True, null=True)),
    ]


_OPTIONS = {
    'ordering': ['-id'],
    'indexes': [
        models.Index(fields=['namespace_id', 'document_id', '-id'], name='document_file_of_name'),
        models.Index(fields=['namespace_id', 'document_key'], name='document_file_of_document'),
        models.Index(condition=models.Q(('finished_at', None)), fields=['namespace_id', 'id'], name='document_file_open'),
    ],
}
_KEY = [
    ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
]
_ID = [('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False))]

_TOGETHER = """
ALTER TABLE memory_documentfile
    ADD CONSTRAINT documentfile_of_document FOREIGN KEY (namespace_id, document_key)
        REFERENCES memory_document (namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_documentfilepart
    ADD CONSTRAINT documentfilepart_of_file FOREIGN KEY (namespace_id, file_id)
        REFERENCES memory_documentfile (namespace_id, id) ON DELETE CASCADE;
CREATE INDEX documentfile_by_id ON memory_documentfile (id);
ALTER TABLE memory_documentfile ALTER COLUMN namespace_id SET STATISTICS 0;
ALTER TABLE memory_documentfilepart ALTER COLUMN namespace_id SET STATISTICS 0;
"""
_APART = """
DROP INDEX documentfile_by_id;
ALTER TABLE memory_documentfilepart DROP CONSTRAINT documentfilepart_of_file;
ALTER TABLE memory_documentfile DROP CONSTRAINT documentfile_of_document;
"""


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0046_preferences"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.CreateModel(name='DocumentFile', fields=_fields(_KEY), options=_OPTIONS)],
            state_operations=[migrations.CreateModel(name='DocumentFile', fields=_fields(_ID), options=_OPTIONS)],
        ),
        migrations.CreateModel(
            name='DocumentFilePart',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'file_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('file_id', models.UUIDField()),
                ('number', models.IntegerField()),
                ('data', models.BinaryField()),
            ],
        ),
        migrations.RunSQL(_TOGETHER, _APART),
    ]
