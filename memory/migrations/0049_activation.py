"""Activation caches, which go stale with their memories, and which of them a model's call was given.

The change of a memory and the mark on its caches are one transaction, whoever changes the memory. Only pinned memories
stand in a prefix, so that no other row costs more than the condition. As with the other tables of tenants the key
begins with the namespace, and `namespace_id` has no statistics.
"""

import django.contrib.postgres.fields
import memory.models.keys
from django.db import migrations, models


_KEYS = """
ALTER TABLE memory_activationcache DROP CONSTRAINT memory_activationcache_pkey, ADD PRIMARY KEY (namespace_id, id);
ALTER TABLE memory_activationcache ALTER COLUMN namespace_id SET STATISTICS 0;
"""
_KEYS_BACK = "ALTER TABLE memory_activationcache DROP CONSTRAINT memory_activationcache_pkey, ADD PRIMARY KEY (id);"
_COLUMNS = "text role speaker occurred_at state review pinned valid_to superseded_by retired_spans"
_CHANGED = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in _COLUMNS.split())
_TRIGGERS = f"""
CREATE FUNCTION memos_mark_stale_caches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memory_activationcache SET state = 'stale', reason = 'memory'
    WHERE namespace_id = OLD.namespace_id AND OLD.id = ANY(memory_ids) AND state IN ('building', 'ready');
    RETURN NULL;
END $$;
CREATE TRIGGER memory_memory_caches_updated AFTER UPDATE ON memory_memory
    FOR EACH ROW WHEN (OLD.pinned AND ({_CHANGED})) EXECUTE FUNCTION memos_mark_stale_caches();
CREATE TRIGGER memory_memory_caches_deleted AFTER DELETE ON memory_memory
    FOR EACH ROW WHEN (OLD.pinned) EXECUTE FUNCTION memos_mark_stale_caches();
"""
_TRIGGERS_BACK = """
DROP TRIGGER memory_memory_caches_deleted ON memory_memory;
DROP TRIGGER memory_memory_caches_updated ON memory_memory;
DROP FUNCTION memos_mark_stale_caches();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0044_user_erasures'),
    ]

    operations = [
        migrations.AddField(
            model_name='modelcall',
            name='activation_tokens',
            field=models.IntegerField(blank=True, help_text='Tokens of the activation cache that the model was given before; empty: none', null=True),
        ),
        migrations.CreateModel(
            name='ActivationCache',
            fields=[
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                ('namespace_id', models.BigIntegerField()),
                ('engine', models.CharField(choices=[('llamacpp', "a slot of llama.cpp's server"), ('transformers', 'transformers, in the worker')], max_length=12)),
                ('model', models.CharField(db_collation='C', max_length=200)),
                ('model_sha256', models.CharField(db_collation='C', max_length=64)),
                ('form', models.CharField(choices=[('answer', 'what /v1/answer and /v1/chat send'), ('completion', 'what /v1/chat/completions sends')], max_length=10)),
                ('prefix_sha256', models.CharField(db_collation='C', max_length=64)),
                ('memory_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, help_text='The memories that it holds', size=None)),
                ('state', models.CharField(choices=[('building', 'Building'), ('ready', 'Ready'), ('stale', 'Stale')], default='building', max_length=8)),
                ('reason', models.CharField(blank=True, choices=[('memory', 'a memory that it holds was changed, superseded or deleted'), ('erased', 'a memory that it holds was erased'), ('prefix', "the namespace's prefix is another"), ('asked', 'somebody dropped it, or turned activation memory off'), ('budget', 'others were used since, and the folder was full'), ('lost', 'its file is missing or another'), ('interrupted', 'its build broke off')], default='', help_text='Why it is stale', max_length=11)),
                ('folder_id', models.UUIDField(help_text='Of the folder that has the file, in its file `.memos-activation`')),
                ('file', models.CharField(db_collation='C', max_length=120)),
                ('bytes', models.BigIntegerField(default=0)),
                ('tokens', models.IntegerField(default=0, help_text="Of the prompt's beginning, as the model counts them")),
                ('build_ms', models.IntegerField(blank=True, help_text='Milliseconds that the model took to compute it', null=True)),
                ('uses', models.IntegerField(default=0, help_text='How often it was loaded')),
                ('actor', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
                ('written_at', models.DateTimeField(blank=True, help_text='When its file was begun', null=True)),
                ('used_at', models.DateTimeField(blank=True, help_text='When it was loaded last, or found in its slot', null=True)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['building', 'ready'])), fields=('namespace_id', 'engine', 'model', 'form', 'prefix_sha256', 'model_sha256'), name='activation_once')],
            },
        ),
        migrations.RunSQL(_KEYS, _KEYS_BACK),
        migrations.RunSQL(_TRIGGERS, _TRIGGERS_BACK),
    ]
