"""Creates the tables of a new database in a tenth of the time that the migrations take which it replaces.

A database to which some of those are applied goes on with the next of them. A test holds both schemas equal.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.fields.json
import django.db.models.functions.datetime
import django.utils.timezone
import memory.models.cube
import memory.models.keys
import pgvector.django.extensions
import pgvector.django.halfvec
import uuid
from django.db import migrations, models

from memory.postgresql.create_models import CreateModels

# Django's admin takes no composite key: to Django the key of these is `id`. The primary key in the database leads with
# the namespace, so that the tables can be distributed by it (Citus).
_KEYED_BY_ID = (
    "activationcache adapter auditlog bulkchange condensation contextpack cube cubefile document documentfile"
    " evaluationrun job memory memoryfeedback memoryimport memorylink memoryversion modelcall quarantineditem"
    " relevancejudgement retiredstatement topicnode trainingdataset unsurepair upload usagereservation user webhook"
    " webhookdelivery"
).split()
# The tables of these that are looked up by `id` alone, by the admin.
_FOUND_BY_ID = (
    "auditlog bulkchange condensation contextpack document documentfile evaluationrun job memory memoryversion"
    " quarantineditem relevancejudgement"
).split()
# With statistics of `namespace_id` PostgreSQL takes a namespace that is newer than the last ANALYZE for one of one row,
# and scans the whole of it where a look-up by key is meant (1.7 ms instead of 0.5 at 600 memories).
_WITHOUT_STATISTICS = (
    "activationcache adapter auditlog auditwords bulkchange bulkchangememory commonterm condensation contextpack"
    " cube cubefile cubefilepart cubeshare document documentchunk documentfile documentfilepart entity entityalias"
    " entitymention entitypending entityrelation entitywatermark erasedmemory erasedsession erasure evaluationresult"
    " importedturn importpart indexchange memory memoryfeedback memoryimport memorylink memoryupkeep memoryvector"
    " memoryversion modelcall namespacepolicy posting projectedmemory projection quarantineditem relevancejudgement"
    " requestminute retiredstatement session stalesource topicmember topicnode trainingdataset trainingpart"
    " trainingsource unsurepair upload uploadpart usageday usagereservation user usererasure usernamespace webhook"
    " webhookdelivery"
).split()
# Rows that PostgreSQL deletes with the row that they belong to: table, column, owner and constraint.
_OWNED = [
    ("documentchunk", "document_key", "document", "documentchunk_of_document"),
    ("documentchunk", "memory_id", "memory", "documentchunk_of_memory"),
    ("documentfile", "document_key", "document", "documentfile_of_document"),
    ("documentfilepart", "file_id", "documentfile", "documentfilepart_of_file"),
    ("entitymention", "memory_id", "memory", "entitymention_of_memory"),
    ("entitypending", "memory_id", "memory", "entitypending_of_memory"),
    ("entityrelation", "memory_id", "memory", "entityrelation_of_memory"),
    ("evaluationresult", "run_id", "evaluationrun", "evaluationresult_of_evaluationrun"),
    ("memoryfeedback", "memory_id", "memory", "memoryfeedback_of_memory"),
    ("memorylink", "memory_id", "memory", "memorylink_of_memory"),
    ("memorylink", "other_id", "memory", "memorylink_of_other"),
    ("memoryupkeep", "memory_id", "memory", "memoryupkeep_of_memory"),
    ("memoryvector", "memory_id", "memory", "memoryvector_of_memory"),
    ("memoryversion", "memory_id", "memory", "memoryversion_of_memory"),
    ("projectedmemory", "memory_id", "memory", "projectedmemory_of_memory"),
    ("relevancejudgement", "memory_id", "memory", "relevancejudgement_of_memory"),
    ("retiredstatement", "memory_id", "memory", "retiredstatement_of_memory"),
    ("stalesource", "memory_id", "memory", "stalesource_of_memory"),
    ("topicmember", "memory_id", "memory", "topicmember_of_memory"),
    ("unsurepair", "newer_id", "memory", "unsurepair_of_newer"),
    ("unsurepair", "older_id", "memory", "unsurepair_of_older"),
]
_KEYS = "\n".join(
    [
        *(
            f"ALTER TABLE memory_{t} DROP CONSTRAINT memory_{t}_pkey, ADD PRIMARY KEY (namespace_id, id);"
            for t in _KEYED_BY_ID
        ),
        *(f"CREATE INDEX {t}_by_id ON memory_{t} (id);" for t in _FOUND_BY_ID),
        *(f"ALTER TABLE memory_{t} ALTER COLUMN namespace_id SET STATISTICS 0;" for t in _WITHOUT_STATISTICS),
        *(
            f"ALTER TABLE memory_{t} ADD CONSTRAINT {name} FOREIGN KEY (namespace_id, {column})"
            f" REFERENCES memory_{owner} (namespace_id, id) ON DELETE CASCADE;"
            for t, column, owner, name in _OWNED
        ),
    ]
)
_TABLES = """
-- The key carries what BM25 reads, so that a search reads the index alone. Services delete a memory's postings.
ALTER TABLE memory_posting DROP CONSTRAINT memory_posting_pkey,
    ADD PRIMARY KEY (namespace_id, term, memory_id) INCLUDE (frequency, length);
ALTER TABLE memory_usererasure DROP CONSTRAINT memory_usererasure_pkey, ADD PRIMARY KEY (namespace_id, user_id);
-- Finds a memory's vectors of every model when it is deleted.
CREATE INDEX memoryvector_by_memory ON memory_memoryvector (namespace_id, memory_id);
ALTER TABLE memory_memoryvector SET (autovacuum_vacuum_scale_factor = 0.02);
-- Heartbeats update a row every few seconds: with room on its page no index changes.
ALTER TABLE memory_job SET (fillfactor = 80);
ALTER TABLE memory_entityalias ADD CONSTRAINT entityalias_of_entity FOREIGN KEY (namespace_id, entity)
    REFERENCES memory_entity (namespace_id, id);
ALTER TABLE memory_entitymention ADD CONSTRAINT entitymention_of_alias FOREIGN KEY (namespace_id, alias)
    REFERENCES memory_entityalias (namespace_id, id);
"""

# `xact`, the transaction that wrote an event, is no field of the model: the audit chain and the feeds of webhooks read
# events in its order. The feed's index leaves out the events of every query.
_AUDIT = """
ALTER TABLE memory_auditlog ADD COLUMN xact bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
CREATE INDEX audit_in_order ON memory_auditlog (xact, id);
CREATE INDEX audit_of_namespace ON memory_auditlog (namespace_id, xact, id)
    WHERE event_type <> 'QUERY' AND event_type <> 'CONTEXT_PACK';

CREATE FUNCTION memory_auditlog_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are append-only: % refused', TG_OP;
END $$;
CREATE FUNCTION memory_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events and seals are append-only: % of % refused', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER memory_auditlog_append_only BEFORE UPDATE OR DELETE ON memory_auditlog
    FOR EACH ROW EXECUTE FUNCTION memory_auditlog_is_append_only();
CREATE TRIGGER memory_auditlog_no_truncate BEFORE TRUNCATE ON memory_auditlog
    FOR EACH STATEMENT EXECUTE FUNCTION memory_audit_is_append_only();
CREATE TRIGGER memory_auditseal_append_only BEFORE UPDATE OR DELETE ON memory_auditseal
    FOR EACH ROW EXECUTE FUNCTION memory_audit_is_append_only();
CREATE TRIGGER memory_auditseal_no_truncate BEFORE TRUNCATE ON memory_auditseal
    FOR EACH STATEMENT EXECUTE FUNCTION memory_audit_is_append_only();
"""
_NO_AUDIT = "DROP FUNCTION memory_auditlog_is_append_only, memory_audit_is_append_only CASCADE;"

# What changed in the index of a namespace, and in which transaction. Inserts and deletes are noted once a statement;
# most updates touch nothing that a search reads, so theirs has a condition for each row.
_NOTE = "INSERT INTO memory_indexchange (namespace_id, transaction, subject, of_alias, created_at)"
_XACT = "pg_current_xact_id()::text::bigint"
_CHANGE_FUNCTIONS = "".join(
    f"""
CREATE FUNCTION memos_note_changed_{kind}_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {_NOTE} SELECT DISTINCT namespace_id, {_XACT}, {subject}, {of_alias}, now() FROM changed ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE FUNCTION memos_note_changed_{kind}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {_NOTE} VALUES (NEW.namespace_id, {_XACT}, NEW.{subject}, {of_alias}, now()) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
"""
    for kind, subject, of_alias in (("memory", "id", "false"), ("entry", "memory_id", "false"), ("alias", "id", "true"))
)


def _differ(columns: str) -> str:
    return " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns.split())


_CHANGE_TRIGGERS = "".join(
    f"""
CREATE TRIGGER memory_{table}_index_inserted AFTER INSERT ON memory_{table} REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION memos_note_changed_{kind}_rows();
CREATE TRIGGER memory_{table}_index_deleted AFTER DELETE ON memory_{table} REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION memos_note_changed_{kind}_rows();
CREATE TRIGGER memory_{table}_index_updated AFTER UPDATE ON memory_{table}
    FOR EACH ROW WHEN ({_differ(columns)}) EXECUTE FUNCTION memos_note_changed_{kind}();
"""
    for table, kind, columns in (
        (
            "memory",
            "memory",
            "session turn role speaker tokens importance occurred_at state valid_to content_hash length metadata tier"
            " created_at terms retired_spans review",
        ),
        ("memoryvector", "entry", "searchable"),
        ("posting", "entry", "frequency length"),
        ("entitymention", "entry", "alias active"),
        ("entityalias", "alias", "key entity"),
    )
)
# The operators of an extension's type are not found while a dump is restored: vectors are not compared.
_OTHER_CHANGES = """
CREATE TRIGGER memory_memoryvector_index_embedded AFTER UPDATE OF embedding ON memory_memoryvector
    FOR EACH ROW EXECUTE FUNCTION memos_note_changed_entry();

CREATE FUNCTION memos_note_linked_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory_indexchange (namespace_id, transaction, subject, of_alias, created_at)
    VALUES (NEW.namespace_id, pg_current_xact_id()::text::bigint, NEW.other_id, false, now()) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER memory_memorylink_index_inserted AFTER INSERT ON memory_memorylink
    FOR EACH ROW WHEN (NEW.kind = 'supersedes' AND NEW.start IS NOT NULL)
    EXECUTE FUNCTION memos_note_linked_memory();
CREATE TRIGGER memory_memorylink_index_updated AFTER UPDATE ON memory_memorylink
    FOR EACH ROW WHEN (NEW.kind = 'supersedes' AND NEW.start IS NOT NULL)
    EXECUTE FUNCTION memos_note_linked_memory();
"""
_NO_CHANGES = """
DROP FUNCTION memos_note_changed_memory_rows, memos_note_changed_memory, memos_note_changed_entry_rows,
    memos_note_changed_entry, memos_note_changed_alias_rows, memos_note_changed_alias, memos_note_linked_memory CASCADE;
"""

# Activation caches go stale in the transaction that changes one of their memories, which are pinned ones.
_CACHES = f"""
CREATE FUNCTION memos_mark_stale_caches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memory_activationcache SET state = 'stale', reason = 'memory'
    WHERE namespace_id = OLD.namespace_id AND OLD.id = ANY(memory_ids) AND state IN ('building', 'ready');
    RETURN NULL;
END $$;
CREATE TRIGGER memory_memory_caches_updated AFTER UPDATE ON memory_memory FOR EACH ROW WHEN (OLD.pinned AND (
    {_differ("text role speaker occurred_at state review pinned valid_to superseded_by retired_spans")}
)) EXECUTE FUNCTION memos_mark_stale_caches();
CREATE TRIGGER memory_memory_caches_deleted AFTER DELETE ON memory_memory
    FOR EACH ROW WHEN (OLD.pinned) EXECUTE FUNCTION memos_mark_stale_caches();
"""


class Migration(migrations.Migration):
    replaces = [
        ("memory", "0001_extensions"),
        ("memory", "0002_tables"),
        ("memory", "0003_tenant_keys"),
        ("memory", "0004_audit_append_only"),
        ("memory", "0005_plan_every_tenant_alike"),
        ("memory", "0006_evaluation"),
        ("memory", "0007_passages"),
        ("memory", "0008_documents"),
        ("memory", "0009_large_namespaces"),
        ("memory", "0010_large_namespaces_storage"),
        ("memory", "0011_policy_and_decay"),
        ("memory", "0012_entities"),
        ("memory", "0013_summary_triggers"),
        ("memory", "0014_memory_life"),
        ("memory", "0015_audit_chain"),
        ("memory", "0016_one_open_evaluation"),
        ("memory", "0017_erasures"),
        ("memory", "0018_jobs"),
        ("memory", "0019_quarantine"),
        ("memory", "0020_retired_statements"),
        ("memory", "0021_request_minutes"),
        ("memory", "0022_projections"),
        ("memory", "0023_lists_of_staff"),
        ("memory", "0024_embedded"),
        ("memory", "0025_stale_sources"),
        ("memory", "0026_suspected"),
        ("memory", "0027_demo_procedures"),
        ("memory", "0028_tier_words"),
        ("memory", "0029_link_words"),
        ("memory", "0030_audit_words"),
        ("memory", "0032_unsure_pairs"),
        ("memory", "0033_ivf_lists"),
        ("memory", "0034_model_calls"),
        ("memory", "0035_pack_tokens"),
        ("memory", "0036_facts"),
        ("memory", "0037_webhooks"),
        ("memory", "0038_bulk_changes"),
        ("memory", "0039_bulk_change_id"),
        ("memory", "0040_index_changes"),
        ("memory", "0041_session_by_time"),
        ("memory", "0042_memory_imports"),
        ("memory", "0043_users_and_cubes"),
        ("memory", "0044_user_erasures"),
        ("memory", "0045_cube_files"),
        ("memory", "0046_preferences"),
        ("memory", "0048_document_files"),
        ("memory", "0049_activation"),
        ("memory", "0050_training"),
        ("memory", "0051_job_priorities"),
        ("memory", "0053_hit_changes"),
        ("memory", "0061_cube_file_admin"),
        ("memory", "0062_topics"),
        ("memory", "0063_kinds_of_trained_cubes"),
        ("memory", "0064_records_in_the_admin"),
        ("memory", "0065_uploads"),
        ("memory", "0066_namespaces_made_for_files"),
        ("memory", "0067_rate_orders_again"),
        ("memory", "0068_import_messages"),
        ("memory", "0069_compose_names"),
        ("memory", "0070_mem0_project"),
        ("memory", "0071_notes_of_files"),
        ("memory", "0072_import_redacted"),
        ("memory", "0073_default_namespace"),
        ("memory", "0074_compose_sessions"),
        ("memory", "0075_import_notes"),
        ("memory", "0076_hnsw_only"),
        ("memory", "0077_jobs_are_the_queue"),
    ]

    initial = True

    # For the order alone: each of their steps takes Django longer once there are many models.
    dependencies = [
        ("otp_static", "0003_add_timestamps"),
        ("otp_totp", "0003_add_timestamps"),
    ]

    operations = [
        pgvector.django.extensions.VectorExtension(),
        CreateModels(
            migrations.CreateModel(
                name='Namespace',
                fields=[
                    ('id', models.BigAutoField(primary_key=True, serialize=False)),
                    ('name', models.CharField(db_collation='C', max_length=128, unique=True)),
                    ('description', models.CharField(blank=True, default='', max_length=300)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('mem0_project', models.JSONField(db_default={}, default=dict, help_text="Settings of a project that mem0's clients store and read back")),
                ],
                options={
                    'ordering': ['name'],
                },
            ),
            migrations.CreateModel(
                name='Memory',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('session', models.CharField(db_collation='C', max_length=128)),
                    ('turn', models.IntegerField()),
                    ('role', models.CharField(choices=[('user', 'User'), ('agent', 'Agent'), ('system', 'System'), ('tool', 'Tool')], max_length=8)),
                    ('speaker', models.CharField(blank=True, default='', max_length=128)),
                    ('text', models.TextField()),
                    ('metadata', models.JSONField(blank=True, default=dict)),
                    ('importance', models.FloatField(default=0.5)),
                    ('tier', models.CharField(choices=[('L1', 'L1 Scratchpad'), ('L2', 'L2 Semantic'), ('L3', 'L3 Entities')], default='L2', max_length=2)),
                    ('state', models.CharField(choices=[('active', 'Active'), ('archived', 'Archived')], default='active', max_length=12)),
                    ('occurred_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('content_hash', models.BinaryField(max_length=32)),
                    ('terms', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                    ('length', models.IntegerField(default=0)),
                    ('tokens', models.IntegerField(default=0)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='memories', to='memory.namespace')),
                    ('context', models.CharField(blank=True, db_default='', default='', editable=False, max_length=200)),
                    ('pinned', models.BooleanField(db_default=False, default=False, help_text='No sweep takes it away')),
                    ('review', models.CharField(blank=True, choices=[('wrong', 'Wrong'), ('outdated', 'Outdated'), ('contradiction', 'Contradiction'), ('suspected', 'Suspected')], db_default='', default='', max_length=16)),
                    ('revision', models.IntegerField(db_default=1, default=1)),
                    ('superseded_at', models.DateTimeField(blank=True, null=True)),
                    ('superseded_by', models.UUIDField(blank=True, help_text='It may be gone: an id outlives its memory here', null=True)),
                    ('valid_from', models.DateTimeField(blank=True, null=True)),
                    ('valid_to', models.DateTimeField(blank=True, null=True)),
                    ('retired_spans', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), db_default=models.Value([], output_field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)), default=list, editable=False, help_text='Start and end, in characters, of each statement that holds no longer (RetiredStatement says why)', size=None)),
                    ('embedded', models.BooleanField(db_default=False, default=False, editable=False)),
                    ('is_preference', models.BooleanField(db_default=False, default=False, editable=False)),
                ],
                options={
                    'verbose_name_plural': 'memories',
                    'indexes': [models.Index(fields=['namespace', 'occurred_at'], name='memory_when'), models.Index(fields=['namespace', 'content_hash'], name='memory_same_text'), models.Index(condition=models.Q(('state', 'archived')), fields=['namespace', '-id'], name='memory_archived'), models.Index(condition=models.Q(('pinned', True)), fields=['namespace', '-id'], name='memory_pinned'), models.Index(condition=models.Q(('review', ''), _negated=True), fields=['namespace', '-id'], name='memory_to_review'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(django.db.models.fields.json.KeyTransform('tags', 'metadata'), name='jsonb_path_ops'), condition=models.Q(('metadata__has_key', 'tags')), name='memory_tagged'), models.Index(condition=models.Q(('embedded', False)), fields=['id'], include=('namespace', 'state'), name='memory_without_vector'), models.Index(condition=models.Q(('state', 'archived')), fields=['-id'], name='memory_archived_newest'), models.Index(condition=models.Q(('superseded_by__isnull', False)), fields=['namespace', 'superseded_by'], name='memory_by_successor'), models.Index(condition=models.Q(('superseded_by__isnull', False)), fields=['-superseded_at'], name='memory_superseded_newest'), models.Index(condition=models.Q(('turn__lt', 0), models.Q(('session__startswith', 'document:'), _negated=True)), fields=['namespace', '-id'], name='memory_facts'), models.Index(fields=['namespace', 'session', 'occurred_at', 'turn'], name='memory_in_session_by_time'), models.Index(condition=models.Q(('is_preference', True)), fields=['namespace', 'speaker'], name='memory_preferences')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'session', 'turn'), name='memory_place_in_session'), models.CheckConstraint(condition=models.Q(('importance__gte', 0), ('importance__lte', 1)), name='memory_importance_0_1')],
                },
            ),
            migrations.CreateModel(
                name='AuditLog',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField(default=0, help_text='0: the event is of no namespace')),
                    ('namespace', models.CharField(blank=True, default='', max_length=128)),
                    ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                    ('event_type', models.CharField(max_length=40)),
                    ('actor', models.CharField(max_length=150)),
                    ('subject', models.CharField(blank=True, default='', max_length=200)),
                    ('details', models.JSONField(default=dict)),
                    ('request_id', models.CharField(blank=True, default='', max_length=64)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace_id', 'session', '-id'], name='audit_of_session'), models.Index(condition=models.Q(('event_type__in', ('INGEST', 'QUERY', 'CONTEXT_PACK')), _negated=True), fields=['namespace_id', 'subject', '-id'], name='audit_of_subject')],
                },
            ),
            migrations.CreateModel(
                name='EmbeddingModel',
                fields=[
                    ('id', models.SmallAutoField(primary_key=True, serialize=False)),
                    ('provider', models.CharField(max_length=20)),
                    ('name', models.CharField(max_length=200)),
                    ('dimensions', models.IntegerField()),
                    ('state', models.CharField(choices=[('building', 'Building'), ('active', 'Active'), ('retired', 'Retired')], max_length=10)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('activated_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('provider', 'name', 'dimensions'), name='embedding_model_identity'), models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('state',), name='embedding_model_one_active')],
                },
            ),
            migrations.CreateModel(
                name='IdempotencyRecord',
                fields=[
                    ('id', models.BigAutoField(primary_key=True, serialize=False)),
                    ('principal', models.CharField(max_length=150)),
                    ('key', models.CharField(max_length=200)),
                    ('body_hash', models.CharField(max_length=64)),
                    ('memory_ids', models.JSONField()),
                    ('degraded', models.JSONField(default=list)),
                    ('keep_forever', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('answer', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('keep_forever', False)), fields=['created_at'], name='idempotency_age')],
                    'constraints': [models.UniqueConstraint(fields=('principal', 'key'), name='idempotency_once')],
                },
            ),
            migrations.CreateModel(
                name='MemoryVector',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'model_id', 'memory_id', 'passage', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('embedding', pgvector.django.halfvec.HalfVectorField()),
                    ('searchable', models.BooleanField(default=True)),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='vectors', to='memory.memory')),
                    ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='vectors', to='memory.embeddingmodel')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                    ('passage', models.SmallIntegerField(db_default=0, default=0)),
                ],
            ),
            migrations.CreateModel(
                name='ContextPack',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('session', models.CharField(db_collation='C', max_length=128)),
                    ('query_text', models.TextField()),
                    ('session_summary_id', models.UUIDField(blank=True, null=True)),
                    ('retrieved_count', models.IntegerField()),
                    ('token_original', models.IntegerField()),
                    ('token_condensed', models.IntegerField()),
                    ('pack', models.JSONField()),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                    ('memory_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), db_default=models.Value([], django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)), default=list, help_text='The memories whose text the pack holds: hits and window', size=None)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace', 'session', '-id'], name='pack_of_session'), models.Index(fields=['namespace', '-id'], include=('created_at', 'token_original', 'token_condensed'), name='pack_recent_tokens')],
                },
            ),
            migrations.CreateModel(
                name='Condensation',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('session', models.CharField(db_collation='C', max_length=128)),
                    ('number', models.IntegerField(help_text="1 for the session's first summary, then counting up")),
                    ('version', models.CharField(default='memos.session_summary.v1', max_length=40)),
                    ('trigger_reason', models.CharField(choices=[('bootstrap_summary', 'Bootstrap'), ('new_messages_threshold', 'New Messages'), ('new_tokens_threshold', 'New Tokens'), ('idle_session', 'Idle'), ('stale_source', 'Stale')], max_length=40)),
                    ('trigger_details', models.JSONField(default=dict)),
                    ('source_memory_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                    ('covers_to_turn', models.IntegerField()),
                    ('condensed_text', models.TextField()),
                    ('item_sources', models.JSONField(default=dict, help_text="For each bucket of the card, the memory ids behind each item, in the items' order")),
                    ('method', models.CharField(help_text="What wrote the card: extractive, or the language model's name", max_length=80)),
                    ('token_original', models.IntegerField()),
                    ('token_condensed', models.IntegerField()),
                    ('tokenizer', models.CharField(max_length=40)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace', '-id'], name='condensation_recent')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'session', 'number'), name='condensation_number')],
                },
            ),
            migrations.CreateModel(
                name='ApiKey',
                fields=[
                    ('id', models.BigAutoField(primary_key=True, serialize=False)),
                    ('name', models.CharField(max_length=100)),
                    ('prefix', models.CharField(editable=False, max_length=12, unique=True)),
                    ('digest', models.CharField(editable=False, max_length=64)),
                    ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read'), ('write', 'Write'), ('admin', 'Admin')], max_length=10), default=list, size=None)),
                    ('all_namespaces', models.BooleanField(default=False)),
                    ('requests_per_minute', models.PositiveIntegerField(blank=True, help_text="Empty: the server's own limit (MEMOS_RATE_LIMIT_PER_MINUTE)", null=True)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ('expires_at', models.DateTimeField(blank=True, null=True)),
                    ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                    ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                    ('namespaces', models.ManyToManyField(blank=True, related_name='api_keys', to='memory.namespace')),
                    ('budget_hard_tokens', models.BigIntegerField(default=0, help_text='Tokens beyond which no model is called')),
                    ('budget_hard_usd', models.DecimalField(decimal_places=4, default=0, help_text='US dollars beyond which no model is called', max_digits=12)),
                    ('budget_period', models.CharField(choices=[('day', 'a day'), ('month', 'a calendar month')], default='month', help_text='What calls of models for this key may cost in it (UTC); 0: no limit', max_length=5)),
                    ('budget_soft_tokens', models.BigIntegerField(default=0, help_text='Tokens from which answers warn')),
                    ('budget_soft_usd', models.DecimalField(decimal_places=4, default=0, help_text='US dollars from which answers warn', max_digits=12)),
                    ('owner_id', models.UUIDField(blank=True, editable=False, help_text='The user whose key it is: what is shared with them it reaches', null=True)),
                    ('default_namespace', models.CharField(blank=True, db_default='', default='', help_text='Of requests that name none', max_length=128, verbose_name='default namespace')),
                ],
                options={
                    'verbose_name': 'API key',
                    'verbose_name_plural': 'API keys',
                    'ordering': ['-created_at'],
                    'indexes': [models.Index(fields=['owner_id'], name='apikey_of_owner')],
                },
            ),
            migrations.CreateModel(
                name='NamespaceStat',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'shard', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('shard', models.SmallIntegerField()),
                    ('memories', models.BigIntegerField(default=0)),
                    ('terms', models.BigIntegerField(default=0, help_text="Sum of the memories' lengths in terms")),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='stats', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='Posting',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'term', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('term', models.CharField(db_collation='C', max_length=64)),
                    ('frequency', models.SmallIntegerField(help_text='Occurrences of the term in the memory')),
                    ('length', models.IntegerField(help_text='Terms in the memory, with repeats')),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='Procedure',
                fields=[
                    ('id', models.BigAutoField(primary_key=True, serialize=False)),
                    ('kind', models.CharField(choices=[('prompt', 'Prompt'), ('tool', 'Tool')], max_length=6)),
                    ('name', models.CharField(max_length=100)),
                    ('version', models.CharField(default='1', max_length=20)),
                    ('description', models.CharField(blank=True, default='', max_length=300)),
                    ('text', models.TextField(blank=True, default='', help_text="A prompt's text")),
                    ('parameters', models.JSONField(blank=True, default=dict, help_text="A tool's parameters as a JSON schema")),
                    ('enabled', models.BooleanField(default=True)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('namespace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='procedures', to='memory.namespace')),
                ],
                options={
                    'ordering': ['kind', 'name', '-version'],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'kind', 'name', 'version'), name='procedure_identity', nulls_distinct=False)],
                },
            ),
            migrations.CreateModel(
                name='Session',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'name', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('name', models.CharField(db_collation='C', max_length=128)),
                    ('message_count', models.IntegerField(default=0)),
                    ('summarised_turn', models.IntegerField(default=0)),
                    ('summary_requested_at', models.DateTimeField(blank=True, null=True)),
                    ('first_message_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('last_message_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('audit_hidden_before', models.DateTimeField(blank=True, help_text="A reset with clear_audit hides earlier events from the session's listing", null=True)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='memory.namespace')),
                    ('settled_turn', models.IntegerField(db_default=0, default=0)),
                    ('skipped_turn', models.IntegerField(blank=True, null=True)),
                    ('extracted_turn', models.IntegerField(db_default=0, default=0)),
                    ('preference_turn', models.IntegerField(db_default=0, default=0)),
                ],
                options={
                    'indexes': [models.Index(fields=['namespace', '-last_message_at'], name='session_recent'), models.Index(condition=models.Q(('skipped_turn__isnull', False)), fields=['namespace'], name='session_skipped'), models.Index(condition=models.Q(('message_count__gt', models.F('settled_turn'))), fields=['namespace', 'last_message_at'], name='session_unsettled')],
                },
            ),
            migrations.CreateModel(
                name='MemoryVersion',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('text', models.TextField()),
                    ('metadata', models.JSONField(default=dict)),
                    ('reason', models.CharField(max_length=300)),
                    ('actor', models.CharField(max_length=150)),
                    ('replaced_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='versions', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                    ('occurred_at', models.DateTimeField(null=True)),
                    ('revision', models.IntegerField(null=True)),
                    ('speaker', models.CharField(max_length=128, null=True)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace', 'memory', '-id'], name='version_of_memory')],
                },
            ),
            migrations.CreateModel(
                name='EvaluationRun',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField(default=0, help_text='0: a dataset was measured, of no namespace')),
                    ('namespace', models.CharField(blank=True, default='', max_length=128)),
                    ('dataset', models.CharField(blank=True, default='', help_text="Name of the dataset's folder", max_length=255)),
                    ('label', models.CharField(blank=True, default='', max_length=100)),
                    ('content_digest', models.CharField(blank=True, default='', help_text="SHA-256 of the dataset's files, or of the judgements", max_length=64)),
                    ('options', models.JSONField(default=dict, help_text='top_k, types, groups, arms')),
                    ('configuration', models.JSONField(default=dict, help_text='Version, embedding model, weights and settings')),
                    ('metrics', models.JSONField(default=dict)),
                    ('notes', models.JSONField(default=list, help_text='What was left out or cut, in words')),
                    ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('failed', 'Failed')], default='queued', max_length=10)),
                    ('error', models.TextField(blank=True, default='')),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace_id', '-id'], name='evaluation_recent')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ['queued', 'running'])), fields=('namespace_id', 'dataset'), name='evaluation_open_once')],
                },
            ),
            migrations.CreateModel(
                name='EvaluationResult',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'run_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField(default=0)),
                    ('number', models.IntegerField()),
                    ('group', models.TextField(blank=True, default='')),
                    ('query_id', models.TextField()),
                    ('type', models.TextField(blank=True, default='')),
                    ('fingerprint', models.CharField(help_text='SHA-256 of the group, the question and its evidence', max_length=64)),
                    ('metrics', models.JSONField()),
                    ('context_tokens', models.IntegerField()),
                    ('milliseconds', models.FloatField()),
                    ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='results', to='memory.evaluationrun')),
                ],
            ),
            migrations.CreateModel(
                name='RelevanceJudgement',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('query_text', models.TextField()),
                    ('query_hash', models.CharField(max_length=64)),
                    ('relevant', models.BooleanField()),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When it was marked last')),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace', '-id'], name='judgement_recent'), models.Index(fields=['namespace', 'memory'], name='judgement_by_memory')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'query_hash', 'memory'), name='judgement_of_memory')],
                },
            ),
            migrations.CreateModel(
                name='Document',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
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
            migrations.CreateModel(
                name='CommonTerm',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'term', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                    ('term', models.CharField(db_collation='C', max_length=64)),
                    ('memories', models.BigIntegerField()),
                ],
            ),
            migrations.CreateModel(
                name='Corpus',
                fields=[
                    ('namespace', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='memory.namespace')),
                    ('memories', models.BigIntegerField()),
                ],
            ),
            migrations.CreateModel(
                name='UpkeepMark',
                fields=[
                    ('name', models.CharField(max_length=20, primary_key=True, serialize=False)),
                    ('position', models.UUIDField(null=True)),
                    ('at_namespace', models.BigIntegerField(default=-1)),
                    ('trusted_at', models.DateTimeField(null=True)),
                    ('doubted_at', models.DateTimeField(null=True)),
                    ('seen_at', models.DateTimeField(null=True)),
                ],
            ),
            migrations.CreateModel(
                name='NamespacePolicy',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'version', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('version', models.IntegerField()),
                    ('overrides', models.JSONField(default=dict)),
                    ('reason', models.CharField(blank=True, default='', max_length=300)),
                    ('updated_by', models.CharField(max_length=150)),
                    ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='policies', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='MemoryUpkeep',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('uses', models.IntegerField(db_default=0, default=0, help_text='Packs that carried it')),
                    ('last_used_at', models.DateTimeField(null=True)),
                    ('restored_at', models.DateTimeField(null=True)),
                    ('expires_at', models.DateTimeField(null=True)),
                    ('legal_hold', models.BooleanField(db_default=False, default=False)),
                    ('repeats', models.SmallIntegerField(db_default=1, default=1, help_text='Memories with the same text, itself too')),
                    ('importance', models.FloatField(null=True)),
                    ('stale', models.BooleanField(db_default=False, default=False)),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('stale', True)), fields=['namespace', 'memory'], name='upkeep_stale')],
                },
            ),
            migrations.CreateModel(
                name='Entity',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                    ('name', models.CharField(max_length=128)),
                    ('kind', models.CharField(choices=[('person', 'Person'), ('place', 'Place'), ('organisation', 'Organisation'), ('project', 'Project'), ('thing', 'Thing')], max_length=12)),
                    ('merged_into', models.UUIDField(null=True)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
                options={
                    'verbose_name_plural': 'entities',
                },
            ),
            migrations.CreateModel(
                name='EntityPending',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='EntityWatermark',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'session', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('session', models.CharField(db_collation='C', max_length=128)),
                    ('turn', models.IntegerField()),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='EntityAlias',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                    ('key', models.CharField(db_collation='C', max_length=128)),
                    ('variant', models.SmallIntegerField(default=0)),
                    ('name', models.CharField(max_length=128)),
                    ('kind', models.CharField(choices=[('person', 'Person'), ('place', 'Place'), ('organisation', 'Organisation'), ('project', 'Project'), ('thing', 'Thing')], max_length=12)),
                    ('weight', models.SmallIntegerField(default=0)),
                    ('spoke', models.BooleanField(default=False)),
                    ('first_word', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                    ('last_word', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                    ('home', models.UUIDField()),
                    ('entity', models.UUIDField()),
                    ('link', models.CharField(choices=[('own', 'the entity was made for it'), ('rule', 'it is the first or last name of one full name only'), ('stated', 'a memory says so'), ('apart', 'memories say different things of it: it stays apart'), ('staff', 'a person merged or split it')], default='own', max_length=8)),
                    ('stated_in', models.UUIDField(null=True)),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
                options={
                    'verbose_name_plural': 'entity aliases',
                    'indexes': [models.Index(fields=['namespace', 'entity'], name='entityalias_of_entity'), models.Index(condition=models.Q(('first_word', ''), _negated=True), fields=['namespace', 'first_word'], name='entityalias_first_word'), models.Index(condition=models.Q(('last_word', ''), _negated=True), fields=['namespace', 'last_word'], name='entityalias_last_word')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'key', 'variant'), name='entityalias_name')],
                },
            ),
            migrations.CreateModel(
                name='EntityMention',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                    ('alias', models.UUIDField()),
                    ('start', models.IntegerField()),
                    ('end', models.IntegerField()),
                    ('occurred_at', models.DateTimeField()),
                    ('active', models.BooleanField(default=True)),
                    ('pinned', models.BooleanField(default=False)),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
                options={
                    'indexes': [models.Index(fields=['namespace', 'alias', '-occurred_at', '-id'], name='entitymention_timeline'), models.Index(condition=models.Q(('active', True)), fields=['namespace', 'alias'], name='entitymention_counted')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'start', 'end'), name='entitymention_place')],
                },
            ),
            migrations.CreateModel(
                name='EntityRelation',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                    ('subject_mention', models.UUIDField()),
                    ('object_mention', models.UUIDField()),
                    ('subject', models.UUIDField()),
                    ('object', models.UUIDField()),
                    ('predicate', models.CharField(choices=[('works_at', 'Works At'), ('studies_at', 'Studies At'), ('lives_in', 'Lives In'), ('comes_from', 'Comes From'), ('member_of', 'Member Of'), ('works_on', 'Works On'), ('family', 'Family'), ('friend_of', 'Friend Of'), ('colleague_of', 'Colleague Of'), ('owns', 'Owns'), ('part_of', 'Part Of'), ('likes', 'Likes')], max_length=12)),
                    ('detail', models.CharField(blank=True, default='', max_length=40)),
                    ('valid_from', models.DateTimeField(null=True)),
                    ('valid_to', models.DateTimeField(null=True)),
                    ('active', models.BooleanField(default=True)),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
                options={
                    'indexes': [models.Index(fields=['namespace', 'subject'], name='entityrelation_subject'), models.Index(fields=['namespace', 'object'], name='entityrelation_object')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'subject_mention', 'predicate', 'object_mention'), name='entityrelation_statement')],
                },
            ),
            migrations.CreateModel(
                name='MemoryFeedback',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('kind', models.CharField(choices=[('useful', 'Useful'), ('wrong', 'Wrong'), ('outdated', 'Outdated')], max_length=10)),
                    ('note', models.CharField(blank=True, default='', max_length=500)),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When the actor said so last')),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='feedback', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
                options={
                    'ordering': ['-id'],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'actor'), name='feedback_once_an_actor')],
                },
            ),
            migrations.CreateModel(
                name='MemoryLink',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('kind', models.CharField(choices=[('supersedes', 'Supersedes'), ('restates', 'Restates'), ('contradicts', 'Contradicts'), ('both_hold', 'Both Hold'), ('derived_from', 'Derived From')], max_length=12)),
                    ('reason', models.CharField(max_length=300)),
                    ('confidence', models.FloatField(default=1.0, help_text='0 to 1; what a person or a client says is 1')),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='links', to='memory.memory')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                    ('other', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('end', models.IntegerField(blank=True, null=True)),
                    ('start', models.IntegerField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace', 'other'], name='link_by_other')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'other', 'kind'), name='link_between_memories'), models.CheckConstraint(condition=models.Q(('confidence__gte', 0), ('confidence__lte', 1)), name='link_confidence_0_1')],
                },
            ),
            migrations.CreateModel(
                name='AuditSeal',
                fields=[
                    ('number', models.BigIntegerField(primary_key=True, serialize=False)),
                    ('previous', models.BinaryField(max_length=32)),
                    ('hash', models.BinaryField(max_length=32)),
                    ('count', models.IntegerField()),
                    ('total', models.BigIntegerField(help_text='Rows of this seal and all before it')),
                    ('first_xact', models.BigIntegerField()),
                    ('first_id', models.UUIDField()),
                    ('last_xact', models.BigIntegerField()),
                    ('last_id', models.UUIDField()),
                    ('members', models.BinaryField()),
                    ('late', models.BooleanField(default=False)),
                    ('era', models.IntegerField()),
                    ('xact_offset', models.BigIntegerField()),
                    ('cluster', models.CharField(max_length=20)),
                    ('sealed_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['-number'],
                },
            ),
            migrations.CreateModel(
                name='Job',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField(default=0, help_text='0: the job is of no namespace')),
                    ('kind', models.CharField(help_text='A function of one of the modules named `tasks`', max_length=64)),
                    ('arguments', models.JSONField(default=list)),
                    ('schedule', models.CharField(blank=True, default='', help_text='Of a run by the clock: its name', max_length=100)),
                    ('once', models.BooleanField(default=False, help_text='No second one of the same arguments while it is open')),
                    ('seconds', models.IntegerField(blank=True, help_text="What it may take; empty: the server's setting", null=True)),
                    ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('discarded', 'Discarded')], default='queued', max_length=10)),
                    ('attempts', models.IntegerField(default=0)),
                    ('done', models.BigIntegerField(blank=True, help_text='Of `total`, as far as the task knows', null=True)),
                    ('total', models.BigIntegerField(blank=True, null=True)),
                    ('again', models.BooleanField(default=False, help_text='It was asked for again while it ran: it runs once more')),
                    ('error_type', models.CharField(blank=True, default='', max_length=100)),
                    ('error', models.CharField(blank=True, default='', help_text='First line of the last error', max_length=300)),
                    ('reason', models.CharField(blank=True, default='', help_text='Why it was discarded', max_length=500)),
                    ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('started_at', models.DateTimeField(blank=True, help_text='Beginning of the last attempt', null=True)),
                    ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ('priority', models.SmallIntegerField(choices=[(0, 'interactive'), (1, 'normal'), (2, 'bulk')], db_default=1, default=1, help_text='Who waits for it: a person, nobody, or nobody for hours')),
                    ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), default=django.utils.timezone.now, help_text='When a worker may begin it')),
                    ('traceparent', models.CharField(blank=True, db_default='', default='', help_text='Who asked for it', max_length=55)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace_id', '-id'], name='job_recent'), models.Index(condition=models.Q(('state__in', ['queued', 'running', 'failed'])), fields=['state', 'id'], name='job_unfinished'), models.Index(condition=models.Q(('state__in', ('done', 'discarded'))), fields=['finished_at'], name='job_over'), models.Index(condition=models.Q(('schedule', ''), _negated=True), fields=['namespace_id', 'schedule', '-started_at'], name='job_runs_of_schedule'), models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['namespace_id', 'priority', 'queued_at'], name='job_open_by_priority'), models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['priority', 'namespace_id', 'due_at'], name='job_due')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('once', True), ('state__in', ('queued', 'running'))), fields=('namespace_id', 'kind', 'arguments'), name='job_open_once'), models.UniqueConstraint(condition=models.Q(models.Q(('schedule', ''), _negated=True), ('state__in', ['queued', 'running', 'failed'])), fields=('namespace_id', 'schedule'), name='job_of_schedule_once')],
                },
            ),
            migrations.CreateModel(
                name='WritesOfDay',
                fields=[
                    ('namespace', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='memory.namespace')),
                    ('day', models.DateField()),
                    ('memories', models.BigIntegerField()),
                ],
            ),
            migrations.CreateModel(
                name='QuarantinedItem',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                    ('role', models.CharField(choices=[('user', 'User'), ('agent', 'Agent'), ('system', 'System'), ('tool', 'Tool')], max_length=8)),
                    ('speaker', models.CharField(blank=True, default='', max_length=128)),
                    ('text', models.TextField(blank=True, default='')),
                    ('metadata', models.JSONField(blank=True, default=dict)),
                    ('document', models.JSONField(blank=True, default=dict)),
                    ('characters', models.IntegerField()),
                    ('occurred_at', models.DateTimeField()),
                    ('rule', models.CharField(max_length=60)),
                    ('reasons', models.JSONField(default=list)),
                    ('confidence', models.FloatField(help_text='How sure the gate is of its verdict, 0 to 1')),
                    ('content_hash', models.BinaryField(max_length=32)),
                    ('state', models.CharField(choices=[('pending', 'waits for a decision'), ('released', 'it is a memory now'), ('discarded', 'its text was deleted')], default='pending', max_length=10)),
                    ('reviewer', models.CharField(blank=True, default='', max_length=150)),
                    ('note', models.CharField(blank=True, default='', max_length=300)),
                    ('reviewed_at', models.DateTimeField(blank=True, null=True)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='quarantine', to='memory.namespace')),
                ],
                options={
                    'indexes': [models.Index(fields=['namespace', 'state', '-id'], name='quarantine_by_state'), models.Index(condition=models.Q(('state', 'pending')), fields=['namespace', 'session'], name='quarantine_of_session')],
                },
            ),
            migrations.CreateModel(
                name='ErasedSession',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'erasure_id', 'session', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('erasure_id', models.UUIDField()),
                    ('session', models.CharField(db_collation='C', max_length=128)),
                    ('first_turn', models.IntegerField()),
                    ('state', models.CharField(choices=[('open', 'Open'), ('rebuild', 'Rebuild'), ('done', 'Done')], default='open', max_length=8)),
                ],
            ),
            migrations.CreateModel(
                name='Erasure',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('namespace', models.CharField(max_length=128)),
                    ('target', models.CharField(choices=[('memories', 'Memories'), ('session', 'Session'), ('speaker', 'Speaker'), ('namespace', 'Namespace')], max_length=10)),
                    ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                    ('speaker_digest', models.CharField(blank=True, default='', max_length=64)),
                    ('named', models.IntegerField(help_text='Memories that the request named, or its session, speaker or namespace held')),
                    ('missing', models.IntegerField(help_text='Those of the named that are not there, or not any more')),
                    ('found', models.IntegerField(help_text='Memories to be erased, with the other chunks of their documents')),
                    ('documents', models.IntegerField(help_text='Documents that are erased whole')),
                    ('reason', models.CharField(max_length=300)),
                    ('actor', models.CharField(max_length=150)),
                    ('request_id', models.CharField(blank=True, default='', max_length=64)),
                    ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('waiting', 'Waiting'), ('finished', 'Finished'), ('failed', 'Failed')], default='queued', max_length=8)),
                    ('waiting_for', models.CharField(blank=True, default='', max_length=200)),
                    ('error', models.CharField(blank=True, default='', max_length=300)),
                    ('attempts', models.IntegerField(default=0, help_text='Runs that ended in an error')),
                    ('cleared_to', models.UUIDField(blank=True, null=True)),
                    ('holders', models.JSONField(default=dict)),
                    ('summaries', models.IntegerField(default=0, help_text='Summaries made again from what is left')),
                    ('proof', models.JSONField(default=dict)),
                    ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='ErasedMemory',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'erasure_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('erasure_id', models.UUIDField()),
                    ('memory_id', models.UUIDField()),
                ],
                options={
                    'indexes': [models.Index(fields=['namespace_id', 'memory_id'], name='erasedmemory_by_memory')],
                },
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
                    'indexes': [models.Index(fields=['namespace', '-retired_at'], name='statement_by_time'), models.Index(fields=['namespace', 'by'], name='statement_by_newer'), models.Index(condition=models.Q(('withdrawn_at', None)), fields=['-retired_at'], name='statement_newest')],
                    'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'start'), name='statement_retired_once'), models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='statement_has_length')],
                },
            ),
            migrations.CreateModel(
                name='RequestMinute',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'minute', 'route', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('minute', models.DateTimeField()),
                    ('route', models.CharField(db_collation='C', max_length=100)),
                    ('count', models.IntegerField()),
                    ('errors', models.IntegerField(help_text='Answered with a status of 400 or more')),
                    ('empty_recalls', models.IntegerField(help_text='Queries that brought nothing back')),
                    ('latency', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ],
                options={
                    'indexes': [models.Index(fields=['minute'], name='requests_of_minute')],
                },
            ),
            migrations.CreateModel(
                name='Projection',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'model_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('version', models.UUIDField(default=memory.models.keys.new_id)),
                    ('mean', models.BinaryField()),
                    ('components', models.BinaryField()),
                    ('explained', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                    ('centroids', models.BinaryField()),
                    ('clusters', models.JSONField(default=list)),
                    ('fitted_on', models.IntegerField()),
                    ('fitted_of', models.BigIntegerField()),
                    ('memories', models.BigIntegerField(help_text='Memories that have a vector')),
                    ('read_at', models.DateTimeField()),
                    ('placed_at', models.DateTimeField()),
                    ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='ProjectedMemory',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'model_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('x', models.FloatField()),
                    ('y', models.FloatField()),
                    ('z', models.FloatField()),
                    ('cluster', models.SmallIntegerField()),
                    ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                    ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ],
                options={
                    'indexes': [models.Index(fields=['namespace', 'memory'], name='projected_by_memory')],
                },
            ),
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
            migrations.CreateModel(
                name='AuditWords',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'event_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('event_id', models.UUIDField()),
                    ('session', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                    ('memory_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                    ('words', models.JSONField()),
                ],
            ),
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
            migrations.CreateModel(
                name='ModelCall',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField(default=0, help_text='0: for no namespace, or for several at once')),
                    ('at', models.DateTimeField(help_text='When it began')),
                    ('purpose', models.CharField(db_collation='C', max_length=20)),
                    ('kind', models.CharField(db_collation='C', max_length=20)),
                    ('provider', models.CharField(db_collation='C', max_length=40)),
                    ('model', models.CharField(db_collation='C', max_length=200)),
                    ('prompt_tokens', models.BigIntegerField(blank=True, null=True)),
                    ('cached_tokens', models.BigIntegerField(blank=True, help_text='Of the prompt', null=True)),
                    ('completion_tokens', models.BigIntegerField(blank=True, null=True)),
                    ('estimated', models.BooleanField(default=False, help_text='The provider did not count the tokens')),
                    ('ttft_ms', models.IntegerField(blank=True, help_text='Milliseconds to the first token of a stream', null=True)),
                    ('duration_ms', models.IntegerField(help_text='Milliseconds')),
                    ('status', models.CharField(choices=[('ok', 'Ok'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], max_length=10)),
                    ('cost', models.DecimalField(blank=True, decimal_places=9, help_text='US dollars; empty: no price is known', max_digits=18, null=True)),
                    ('price_source', models.CharField(blank=True, db_collation='C', default='', max_length=60)),
                    ('price_date', models.DateField(blank=True, help_text='Since when that price holds, where it is said', null=True)),
                    ('request_id', models.CharField(blank=True, db_collation='C', default='', help_text="Or the job's id", max_length=64)),
                    ('key', models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='Empty: the worker or a member of staff', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.apikey')),
                    ('activation_tokens', models.IntegerField(blank=True, help_text='Tokens of the activation cache that the model was given before; empty: none', null=True)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['-id'], name='model_call_recent')],
                },
            ),
            migrations.CreateModel(
                name='UsageDay',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'day', 'key_id', 'purpose', 'kind', 'provider', 'model', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('day', models.DateField()),
                    ('key_id', models.BigIntegerField()),
                    ('purpose', models.CharField(db_collation='C', max_length=20)),
                    ('kind', models.CharField(db_collation='C', max_length=20)),
                    ('provider', models.CharField(db_collation='C', max_length=40)),
                    ('model', models.CharField(db_collation='C', max_length=200)),
                    ('calls', models.BigIntegerField()),
                    ('failed', models.BigIntegerField(help_text='Calls that brought nothing')),
                    ('unpriced', models.BigIntegerField(help_text='Calls that brought something and have no known price')),
                    ('prompt_tokens', models.BigIntegerField()),
                    ('cached_tokens', models.BigIntegerField()),
                    ('completion_tokens', models.BigIntegerField()),
                    ('cost', models.DecimalField(decimal_places=9, help_text='US dollars, as far as prices are known', max_digits=24)),
                ],
                options={
                    'indexes': [models.Index(fields=['key_id', 'day'], name='usage_of_key'), models.Index(fields=['day'], name='usage_of_day')],
                },
            ),
            migrations.CreateModel(
                name='UsageReservation',
                fields=[
                    ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('key_id', models.BigIntegerField()),
                    ('tokens', models.BigIntegerField()),
                    ('cost', models.DecimalField(decimal_places=9, max_digits=18)),
                    ('expires_at', models.DateTimeField(help_text='When its process must have ended without settling it')),
                ],
                options={
                    'indexes': [models.Index(fields=['key_id'], name='reservation_of_key')],
                },
            ),
            migrations.CreateModel(
                name='Webhook',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('url', models.CharField(max_length=2000)),
                    ('description', models.CharField(blank=True, default='', max_length=300)),
                    ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), default=list, help_text='Empty: all', size=None)),
                    ('includes_text', models.BooleanField(default=False)),
                    ('secret', models.BinaryField()),
                    ('former_secret', models.BinaryField(blank=True, null=True)),
                    ('former_until', models.DateTimeField(blank=True, help_text='Until then the former secret signs as well', null=True)),
                    ('enabled', models.BooleanField(default=True)),
                    ('disabled_why', models.CharField(blank=True, default='', help_text='Empty: by a person, or enabled', max_length=300)),
                    ('seen_xact', models.BigIntegerField()),
                    ('seen_id', models.UUIDField(default=uuid.UUID('00000000-0000-0000-0000-000000000000'))),
                    ('failures', models.IntegerField(default=0, help_text='Attempts in a row that failed')),
                    ('failing_since', models.DateTimeField(blank=True, null=True)),
                    ('paused_until', models.DateTimeField(blank=True, null=True)),
                    ('leased_until', models.DateTimeField(blank=True, null=True)),
                    ('created_by', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('updated_at', models.DateTimeField()),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='memory.namespace')),
                    ('reader', models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The key on whose behalf texts are sent', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.apikey')),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='WebhookDelivery',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('webhook_id', models.UUIDField()),
                    ('event_id', models.UUIDField()),
                    ('type', models.CharField(max_length=40)),
                    ('memory_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, help_text='The memories whose texts are sent with it', size=None)),
                    ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='waiting', max_length=10)),
                    ('attempts', models.IntegerField(default=0, help_text='Since it was made, or replayed')),
                    ('tries', models.JSONField(default=list)),
                    ('answer', models.CharField(blank=True, default='', max_length=500)),
                    ('next_at', models.DateTimeField(blank=True, help_text='When it is tried; empty: not any more', null=True)),
                    ('created_at', models.DateTimeField()),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'verbose_name_plural': 'webhook deliveries',
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace_id', 'webhook_id', '-id'], name='delivery_recent'), models.Index(fields=['id'], name='delivery_oldest'), models.Index(condition=models.Q(('state', 'waiting')), fields=['namespace_id', 'webhook_id', 'next_at', 'id'], name='delivery_waiting')],
                    'constraints': [models.UniqueConstraint(fields=('namespace_id', 'webhook_id', 'event_id'), name='delivery_once')],
                },
            ),
            migrations.CreateModel(
                name='BulkChange',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('verb', models.CharField(choices=[('archive', 'Archive'), ('edit', 'Edit'), ('restore', 'Restore')], max_length=10)),
                    ('wanted', models.JSONField(default=dict)),
                    ('matched', models.IntegerField(default=0)),
                    ('changed', models.IntegerField(default=0)),
                    ('unchanged', models.IntegerField(default=0)),
                    ('refused', models.IntegerField(default=0)),
                    ('refusals', models.JSONField(default=dict, help_text='Error code to how many memories it is of')),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='BulkChangeMemory',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'change_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('change_id', models.UUIDField()),
                    ('memory_id', models.UUIDField()),
                    ('outcome', models.CharField(choices=[('waiting', 'Waiting'), ('changed', 'Changed'), ('unchanged', 'Unchanged'), ('refused', 'Refused')], default='waiting', max_length=10)),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('outcome', 'waiting')), fields=['namespace_id', 'change_id', 'memory_id'], name='bulkchange_waiting'), models.Index(fields=['namespace_id', 'memory_id'], name='bulkchange_by_memory')],
                },
            ),
            migrations.CreateModel(
                name='IndexChange',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'transaction', 'subject', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('transaction', models.BigIntegerField(help_text="PostgreSQL's number of it, with its epoch")),
                    ('subject', models.UUIDField()),
                    ('of_alias', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='ImportedTurn',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('key', models.UUIDField()),
                    ('memory_id', models.UUIDField()),
                ],
            ),
            migrations.CreateModel(
                name='ImportPart',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'import_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('import_id', models.UUIDField()),
                    ('number', models.IntegerField()),
                    ('data', models.BinaryField()),
                ],
            ),
            migrations.CreateModel(
                name='MemoryImport',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('name', models.CharField(help_text='Of the file, as its sender calls it', max_length=200)),
                    ('format', models.CharField(choices=[('chatgpt', 'ChatGPT'), ('claude', 'Claude'), ('gemini', 'Gemini'), ('mem0', 'mem0'), ('hindsight', 'hindsight'), ('pam', 'Portable AI Memory 1.0'), ('pasted', 'lines of `date - memory`')], max_length=10)),
                    ('speaker', models.CharField(help_text='Who said what the user said; empty: nobody is named', max_length=128)),
                    ('size', models.BigIntegerField(help_text='In bytes')),
                    ('conversations', models.IntegerField(default=0)),
                    ('turns', models.IntegerField(default=0)),
                    ('first_at', models.DateTimeField(null=True)),
                    ('last_at', models.DateTimeField(null=True)),
                    ('left_out', models.JSONField(default=dict, help_text='Reason to how many turns were left out on purpose')),
                    ('unreadable', models.IntegerField(default=0)),
                    ('faults', models.JSONField(default=list, help_text='The first of what cannot be read: place and reason')),
                    ('dealt_with', models.IntegerField(default=0)),
                    ('new', models.IntegerField(default=0)),
                    ('present', models.IntegerField(default=0)),
                    ('gone', models.IntegerField(default=0)),
                    ('quarantined', models.IntegerField(default=0)),
                    ('rejected', models.IntegerField(default=0)),
                    ('degraded', models.JSONField(default=list)),
                    ('problem', models.CharField(help_text='Why the file was refused after all', max_length=500)),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('cancelled_at', models.DateTimeField(null=True)),
                    ('finished_at', models.DateTimeField(null=True)),
                    ('made_namespace', models.CharField(blank=True, db_default='', default='', help_text='The name of a namespace that was made for it', max_length=128)),
                    ('messages', models.IntegerField(db_default=0, default=0, help_text='Of the file, as its reader counts them')),
                    ('parts_left_out', models.JSONField(db_default={}, default=dict, help_text='Kind to how many parts of messages that are turns, and files of a zip')),
                    ('redacted', models.IntegerField(db_default=0, default=0, help_text='New memories with marks in place of secrets')),
                    ('notes', models.JSONField(db_default=[], default=list, help_text='What was guessed when it was read, in sentences')),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='Cube',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='cube', to='memory.namespace')),
                    ('name', models.CharField(max_length=128)),
                    ('description', models.CharField(blank=True, default='', max_length=1000)),
                    ('owner_id', models.UUIDField(blank=True, null=True)),
                    ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('textual', 'texts that are searched'), ('activation', 'what a language model has computed of a prompt that stays the same'), ('parametric', 'adapters of a language model, trained on memories')], max_length=10), default=memory.models.cube.default_kinds, help_text='The kinds of memory that are on', size=None)),
                    ('revision', models.IntegerField(default=1, help_text='Raised by every change')),
                    ('created_by', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('updated_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['owner_id'], name='cube_of_owner')],
                },
            ),
            migrations.CreateModel(
                name='CubeShare',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'user_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                    ('user_id', models.UUIDField()),
                    ('level', models.CharField(choices=[('read', 'Read'), ('write', 'Write')], max_length=5)),
                    ('expires_at', models.DateTimeField(blank=True, help_text='Empty: it does not expire', null=True)),
                    ('created_by', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                ],
                options={
                    'indexes': [models.Index(fields=['user_id'], name='cubeshare_of_user')],
                },
            ),
            migrations.CreateModel(
                name='User',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                    ('name', models.CharField(db_collation='C', help_text='Unique in the namespace', max_length=128)),
                    ('display_name', models.CharField(blank=True, default='', max_length=128)),
                    ('preferences', models.JSONField(blank=True, default=dict)),
                    ('metadata', models.JSONField(blank=True, default=dict)),
                    ('revision', models.IntegerField(default=1, help_text='Raised by every change')),
                    ('created_by', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('updated_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['-id'],
                    'constraints': [models.UniqueConstraint(fields=('namespace_id', 'name'), name='user_name_once')],
                },
            ),
            migrations.CreateModel(
                name='UserNamespace',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'user_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                    ('user_id', models.UUIDField()),
                ],
                options={
                    'indexes': [models.Index(fields=['user_id'], name='usernamespace_of_user')],
                },
            ),
            migrations.CreateModel(
                name='UserErasure',
                fields=[
                    ('user_id', models.UUIDField(primary_key=True, serialize=False)),
                    ('reason', models.CharField(max_length=300)),
                    ('erasures', models.JSONField(default=list)),
                    ('keys_revoked', models.IntegerField(default=0)),
                    ('shares_ended', models.IntegerField(default=0)),
                    ('cubes_disowned', models.IntegerField(default=0)),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
                ],
            ),
            migrations.CreateModel(
                name='CubeFile',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('kind', models.CharField(choices=[('dump', 'Dump'), ('load', 'Load')], max_length=4)),
                    ('name', models.CharField(help_text='Of the file', max_length=200)),
                    ('options', models.JSONField(default=dict)),
                    ('dry_run', models.BooleanField(default=False)),
                    ('size', models.BigIntegerField(default=0, help_text='In bytes')),
                    ('digest', models.CharField(blank=True, default='', help_text='SHA-256 (hex) of the file', max_length=64)),
                    ('manifest', models.JSONField(default=dict)),
                    ('signature', models.CharField(blank=True, default='', max_length=10)),
                    ('part', models.CharField(blank=True, default='', max_length=20)),
                    ('line', models.IntegerField(default=0)),
                    ('done', models.IntegerField(default=0, help_text='Of a load, lines dealt with; of a dump, memories written')),
                    ('total', models.IntegerField(default=0)),
                    ('counts', models.JSONField(default=dict)),
                    ('listed', models.JSONField(default=list)),
                    ('faults', models.JSONField(default=list)),
                    ('problem', models.CharField(blank=True, default='', help_text='Why it was refused after all', max_length=500)),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('cancelled_at', models.DateTimeField(null=True)),
                    ('finished_at', models.DateTimeField(null=True)),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='CubeFilePart',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'file_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('file_id', models.UUIDField()),
                    ('number', models.IntegerField()),
                    ('data', models.BinaryField()),
                ],
            ),
            migrations.CreateModel(
                name='DocumentFile',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('document_id', models.CharField(db_collation='C', help_text="The client's name of the document", max_length=128)),
                    ('document_key', models.UUIDField(blank=True, help_text="The document's own id; empty: it became none", null=True)),
                    ('document_version', models.IntegerField(blank=True, null=True)),
                    ('name', models.CharField(blank=True, help_text='Of the file, as its sender calls it', max_length=200)),
                    ('type', models.CharField(choices=[('pdf', 'PDF'), ('docx', 'Word'), ('pptx', 'PowerPoint'), ('xlsx', 'Excel'), ('image', 'image'), ('html', 'HTML'), ('markdown', 'Markdown'), ('eml', 'e-mail'), ('csv', 'CSV'), ('json', 'JSON'), ('text', 'text')], max_length=8)),
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
                    ('refusal', models.CharField(blank=True, choices=[('empty', 'it holds nothing'), ('unsupported', 'it is of no kind that is read'), ('mislabelled', 'its name says that it is something else'), ('encoding', 'its text is in an encoding that is not read'), ('encrypted', 'it has a password'), ('damaged', 'it is cut off, or otherwise not what its kind should be'), ('bomb', 'it would grow beyond every limit when it is read'), ('unsafe_xml', 'it declares XML entities'), ('too_large', 'it has more pages, text or levels than are read'), ('no_text', 'there is no text in it'), ('memory', 'reading it takes too much memory'), ('cpu_time', 'reading it takes too much CPU time'), ('wall_time', 'reading it takes too long'), ('crashed', 'its parser broke down'), ('parser_missing', 'the worker lacks the parser for it'), ('ocr_missing', 'images are read where OCR is set up'), ('gate', 'the gate rejects it, or keeps it in the quarantine'), ('outdated', 'a newer version of the document came before it was read'), ('erased', 'an erasure has taken it, or a part of the document, away'), ('refused', 'the document cannot be stored: `problem` says why')], default='', max_length=16)),
                    ('problem', models.CharField(blank=True, default='', max_length=500)),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('asked_at', models.DateTimeField(help_text='When it was given, or last to be read anew')),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ('notes', models.JSONField(blank=True, db_default=[], default=list, help_text='What was guessed or left out, in sentences')),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace_id', 'document_id', '-id'], name='document_file_of_name'), models.Index(fields=['namespace_id', 'document_key'], name='document_file_of_document'), models.Index(condition=models.Q(('finished_at', None)), fields=['namespace_id', 'id'], name='document_file_open')],
                },
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
            migrations.CreateModel(
                name='TrainingDataset',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('options', models.JSONField(default=dict)),
                    ('manifest', models.JSONField(default=dict)),
                    ('problem', models.CharField(help_text='Why nothing was made', max_length=500)),
                    ('rebuild_of', models.UUIDField(null=True)),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('finished_at', models.DateTimeField(null=True)),
                    ('dropped_at', models.DateTimeField(help_text='When its files were deleted', null=True)),
                    ('stale_at', models.DateTimeField(help_text='When a memory of it was first seen not to be as it was', null=True)),
                    ('stale', models.JSONField(default=dict, help_text='Reason to how many memories')),
                    ('erasures', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='TrainingPart',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'dataset_id', 'file', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('dataset_id', models.UUIDField()),
                    ('file', models.CharField(choices=[('sft', 'Sft'), ('preference', 'Preference'), ('evaluation', 'Evaluation')], max_length=10)),
                    ('number', models.IntegerField()),
                    ('data', models.BinaryField()),
                ],
            ),
            migrations.CreateModel(
                name='Adapter',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('name', models.CharField(max_length=64)),
                    ('dataset_id', models.UUIDField()),
                    ('options', models.JSONField(default=dict)),
                    ('state', models.CharField(choices=[('training', 'Training'), ('candidate', 'Candidate'), ('active', 'Active'), ('refused', 'Refused'), ('stale', 'Stale'), ('retired', 'Retired')], default='training', max_length=10)),
                    ('problem', models.CharField(help_text='Why it is refused, stale or not rebuilt', max_length=500)),
                    ('base_model', models.CharField(help_text='Name of the folder or file', max_length=200)),
                    ('base_sha256', models.CharField(max_length=64)),
                    ('files', models.JSONField(default=dict)),
                    ('metrics', models.JSONField(default=dict)),
                    ('refusals', models.JSONField(default=list)),
                    ('served_by', models.JSONField(default=list)),
                    ('rebuild', models.BooleanField(default=False)),
                    ('erasures', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                    ('actor', models.CharField(max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('trained_at', models.DateTimeField(null=True)),
                    ('activated_at', models.DateTimeField(null=True)),
                    ('ended_at', models.DateTimeField(null=True)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['namespace_id', 'dataset_id'], name='adapter_by_dataset')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('namespace_id', 'name'), name='adapter_active_once')],
                },
            ),
            migrations.CreateModel(
                name='TrainingSource',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'dataset_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('dataset_id', models.UUIDField()),
                    ('memory_id', models.UUIDField()),
                    ('fingerprint', models.BinaryField(max_length=32)),
                    ('superseded', models.BooleanField()),
                ],
                options={
                    'indexes': [models.Index(fields=['namespace_id', 'memory_id'], name='trainingsource_by_memory')],
                },
            ),
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
            migrations.CreateModel(
                name='Upload',
                fields=[
                    ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('name', models.CharField(help_text='Of the file, as its sender calls it', max_length=200)),
                    ('size', models.BigIntegerField(help_text='In bytes, as announced')),
                    ('digest', models.CharField(blank=True, default='', help_text='SHA-256 (hex), if it was announced', max_length=64)),
                    ('actor', models.CharField(help_text='Who may send parts of it, and use it', max_length=150)),
                    ('created_at', models.DateTimeField()),
                    ('used_by', models.UUIDField(null=True)),
                    ('made_namespace', models.BooleanField(db_default=False, default=False, help_text='Whether its namespace was made for it')),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='UploadPart',
                fields=[
                    ('pk', models.CompositePrimaryKey('namespace_id', 'upload_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('namespace_id', models.BigIntegerField()),
                    ('upload_id', models.UUIDField()),
                    ('number', models.IntegerField()),
                    ('data', models.BinaryField()),
                ],
            ),
        ),
        # Keys, indexes and settings go with their tables when this is undone, and the functions' triggers with them.
        migrations.RunSQL(_KEYS + _TABLES, migrations.RunSQL.noop),
        migrations.RunSQL(_AUDIT, _NO_AUDIT),
        migrations.RunSQL(_CHANGE_FUNCTIONS + _CHANGE_TRIGGERS + _OTHER_CHANGES, _NO_CHANGES),
        migrations.RunSQL(_CACHES, "DROP FUNCTION memos_mark_stale_caches CASCADE;"),
    ]
