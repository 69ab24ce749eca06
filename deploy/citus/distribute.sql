-- Spreads the tables of tenants by namespace_id, on a coordinator with Citus, after `manage.py migrate`.
-- Written by deploy/citus/distribute.py from the schema; a test holds it in step. What it needs: README.md beside it.

BEGIN;

-- Triggers note what a process that holds an index must read again, and keep the audit log from changes.
SET LOCAL citus.enable_unsafe_triggers = on;
SET LOCAL citus.shard_count = 32;

-- Foreign keys are taken off while one of their two tables is spread and the other is not yet.
ALTER TABLE memory_document DROP CONSTRAINT memory_document_namespace_id_f7c3e446_fk_memory_namespace_id;
ALTER TABLE memory_documentchunk DROP CONSTRAINT documentchunk_of_document;
ALTER TABLE memory_documentchunk DROP CONSTRAINT documentchunk_of_memory;
ALTER TABLE memory_entity DROP CONSTRAINT memory_entity_namespace_id_9f06c180_fk_memory_namespace_id;
ALTER TABLE memory_entityalias DROP CONSTRAINT entityalias_of_entity;
ALTER TABLE memory_entitymention DROP CONSTRAINT entitymention_of_alias;
ALTER TABLE memory_entitymention DROP CONSTRAINT entitymention_of_memory;
ALTER TABLE memory_entitypending DROP CONSTRAINT entitypending_of_memory;
ALTER TABLE memory_entityrelation DROP CONSTRAINT entityrelation_of_memory;
ALTER TABLE memory_evaluationresult DROP CONSTRAINT evaluationresult_of_evaluationrun;
ALTER TABLE memory_ivfindex DROP CONSTRAINT memory_ivfindex_model_id_9abfe5b7_fk_memory_embeddingmodel_id;
ALTER TABLE memory_ivflist DROP CONSTRAINT memory_ivflist_model_id_0f8e85e8_fk_memory_embeddingmodel_id;
ALTER TABLE memory_memory DROP CONSTRAINT memory_memory_namespace_id_49f19c90_fk_memory_namespace_id;
ALTER TABLE memory_memoryfeedback DROP CONSTRAINT memoryfeedback_of_memory;
ALTER TABLE memory_memorylink DROP CONSTRAINT memorylink_of_memory;
ALTER TABLE memory_memorylink DROP CONSTRAINT memorylink_of_other;
ALTER TABLE memory_memoryupkeep DROP CONSTRAINT memoryupkeep_of_memory;
ALTER TABLE memory_memoryvector DROP CONSTRAINT memory_memoryvector_model_id_97cbe60d_fk_memory_em;
ALTER TABLE memory_memoryvector DROP CONSTRAINT memoryvector_of_memory;
ALTER TABLE memory_memoryversion DROP CONSTRAINT memoryversion_of_memory;
ALTER TABLE memory_namespacepolicy DROP CONSTRAINT memory_namespacepoli_namespace_id_b71afc06_fk_memory_na;
ALTER TABLE memory_namespacestat DROP CONSTRAINT memory_namespacestat_namespace_id_f6ee67df_fk_memory_na;
ALTER TABLE memory_projectedmemory DROP CONSTRAINT memory_projectedmemo_model_id_b737dd99_fk_memory_em;
ALTER TABLE memory_projectedmemory DROP CONSTRAINT projectedmemory_of_memory;
ALTER TABLE memory_projection DROP CONSTRAINT memory_projection_model_id_b2d0346b_fk_memory_embeddingmodel_id;
ALTER TABLE memory_quarantineditem DROP CONSTRAINT memory_quarantinedit_namespace_id_4131ed8f_fk_memory_na;
ALTER TABLE memory_relevancejudgement DROP CONSTRAINT relevancejudgement_of_memory;
ALTER TABLE memory_retiredstatement DROP CONSTRAINT retiredstatement_of_memory;
ALTER TABLE memory_session DROP CONSTRAINT memory_session_namespace_id_02fd3613_fk_memory_namespace_id;
ALTER TABLE memory_stalesource DROP CONSTRAINT stalesource_of_memory;
ALTER TABLE memory_unsurepair DROP CONSTRAINT unsurepair_of_newer;
ALTER TABLE memory_unsurepair DROP CONSTRAINT unsurepair_of_older;
ALTER TABLE memory_webhook DROP CONSTRAINT memory_webhook_namespace_id_34f00f96_fk_memory_namespace_id;
ALTER TABLE memory_writesofday DROP CONSTRAINT memory_writesofday_namespace_id_f301debc_fk_memory_namespace_id;

-- Rows of no tenant: whole on every node.
SELECT create_reference_table('memory_embeddingmodel');
SELECT create_reference_table('memory_namespace');
SELECT create_reference_table('memory_procedure');

-- Rows of a tenant: those of one namespace are on one node, whatever their table.
SELECT create_distributed_table('memory_memory', 'namespace_id');
SELECT create_distributed_table('memory_auditlog', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_auditwords', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_bulkchange', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_bulkchangememory', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_commonterm', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_condensation', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_contextpack', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_corpus', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_document', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_documentchunk', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_entity', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_entityalias', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_entitymention', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_entitypending', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_entityrelation', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_entitywatermark', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_erasedmemory', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_erasedsession', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_erasure', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_evaluationresult', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_evaluationrun', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_indexchange', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_ivfindex', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_ivflist', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_job', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_memoryfeedback', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_memorylink', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_memoryupkeep', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_memoryvector', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_memoryversion', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_modelcall', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_namespacepolicy', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_namespacestat', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_posting', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_projectedmemory', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_projection', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_quarantineditem', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_relevancejudgement', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_requestminute', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_retiredstatement', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_session', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_stalesource', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_unsurepair', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_usageday', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_usagereservation', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_webhook', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_webhookdelivery', 'namespace_id', colocate_with => 'memory_memory');
SELECT create_distributed_table('memory_writesofday', 'namespace_id', colocate_with => 'memory_memory');

ALTER TABLE memory_document ADD CONSTRAINT memory_document_namespace_id_f7c3e446_fk_memory_namespace_id FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_documentchunk ADD CONSTRAINT documentchunk_of_document FOREIGN KEY (namespace_id, document_key) REFERENCES memory_document(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_documentchunk ADD CONSTRAINT documentchunk_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_entity ADD CONSTRAINT memory_entity_namespace_id_9f06c180_fk_memory_namespace_id FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_entityalias ADD CONSTRAINT entityalias_of_entity FOREIGN KEY (namespace_id, entity) REFERENCES memory_entity(namespace_id, id);
ALTER TABLE memory_entitymention ADD CONSTRAINT entitymention_of_alias FOREIGN KEY (namespace_id, alias) REFERENCES memory_entityalias(namespace_id, id);
ALTER TABLE memory_entitymention ADD CONSTRAINT entitymention_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_entitypending ADD CONSTRAINT entitypending_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_entityrelation ADD CONSTRAINT entityrelation_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_evaluationresult ADD CONSTRAINT evaluationresult_of_evaluationrun FOREIGN KEY (namespace_id, run_id) REFERENCES memory_evaluationrun(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_ivfindex ADD CONSTRAINT memory_ivfindex_model_id_9abfe5b7_fk_memory_embeddingmodel_id FOREIGN KEY (model_id) REFERENCES memory_embeddingmodel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_ivflist ADD CONSTRAINT memory_ivflist_model_id_0f8e85e8_fk_memory_embeddingmodel_id FOREIGN KEY (model_id) REFERENCES memory_embeddingmodel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memory ADD CONSTRAINT memory_memory_namespace_id_49f19c90_fk_memory_namespace_id FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memoryfeedback ADD CONSTRAINT memoryfeedback_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_memorylink ADD CONSTRAINT memorylink_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_memorylink ADD CONSTRAINT memorylink_of_other FOREIGN KEY (namespace_id, other_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_memoryupkeep ADD CONSTRAINT memoryupkeep_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_memoryvector ADD CONSTRAINT memory_memoryvector_model_id_97cbe60d_fk_memory_em FOREIGN KEY (model_id) REFERENCES memory_embeddingmodel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memoryvector ADD CONSTRAINT memoryvector_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_memoryversion ADD CONSTRAINT memoryversion_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_namespacepolicy ADD CONSTRAINT memory_namespacepoli_namespace_id_b71afc06_fk_memory_na FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_namespacestat ADD CONSTRAINT memory_namespacestat_namespace_id_f6ee67df_fk_memory_na FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_projectedmemory ADD CONSTRAINT memory_projectedmemo_model_id_b737dd99_fk_memory_em FOREIGN KEY (model_id) REFERENCES memory_embeddingmodel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_projectedmemory ADD CONSTRAINT projectedmemory_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_projection ADD CONSTRAINT memory_projection_model_id_b2d0346b_fk_memory_embeddingmodel_id FOREIGN KEY (model_id) REFERENCES memory_embeddingmodel(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_quarantineditem ADD CONSTRAINT memory_quarantinedit_namespace_id_4131ed8f_fk_memory_na FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_relevancejudgement ADD CONSTRAINT relevancejudgement_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_retiredstatement ADD CONSTRAINT retiredstatement_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_session ADD CONSTRAINT memory_session_namespace_id_02fd3613_fk_memory_namespace_id FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_stalesource ADD CONSTRAINT stalesource_of_memory FOREIGN KEY (namespace_id, memory_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_unsurepair ADD CONSTRAINT unsurepair_of_newer FOREIGN KEY (namespace_id, newer_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_unsurepair ADD CONSTRAINT unsurepair_of_older FOREIGN KEY (namespace_id, older_id) REFERENCES memory_memory(namespace_id, id) ON DELETE CASCADE;
ALTER TABLE memory_webhook ADD CONSTRAINT memory_webhook_namespace_id_34f00f96_fk_memory_namespace_id FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_writesofday ADD CONSTRAINT memory_writesofday_namespace_id_f301debc_fk_memory_namespace_id FOREIGN KEY (namespace_id) REFERENCES memory_namespace(id) DEFERRABLE INITIALLY DEFERRED;

COMMIT;
