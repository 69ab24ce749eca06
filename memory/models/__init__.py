"""The models of MemOS. Each row of a tenant has a `namespace_id`, which leads the keys that queries of tenants use."""

from memory.models.access import ApiKey
from memory.models.activation import ActivationCache
from memory.models.audit import AuditLog, AuditSeal, AuditWords
from memory.models.bulk import BulkChange, BulkChangeMemory
from memory.models.condensation import Condensation, StaleSource
from memory.models.cube import Cube, CubeShare
from memory.models.cube_file import CubeFile, CubeFilePart
from memory.models.document import Document, DocumentChunk
from memory.models.document_file import DocumentFile, DocumentFilePart
from memory.models.entity import (
    Entity,
    EntityAlias,
    EntityMention,
    EntityPending,
    EntityRelation,
    EntityWatermark,
)
from memory.models.erasure import ErasedMemory, ErasedSession, Erasure
from memory.models.evaluation import EvaluationResult, EvaluationRun, RelevanceJudgement
from memory.models.idempotency import IdempotencyRecord
from memory.models.imported import ImportedTurn, ImportPart, MemoryImport
from memory.models.job import Job
from memory.models.large import CommonTerm, Corpus
from memory.models.life import HOLDS_ON, MemoryFeedback, MemoryLink, RetiredStatement, UnsurePair
from memory.models.memory import Memory, MemoryVersion
from memory.models.namespace import Namespace, NamespaceStat
from memory.models.pack import ContextPack
from memory.models.policy import NamespacePolicy
from memory.models.procedure import Procedure
from memory.models.projection import ProjectedMemory, Projection
from memory.models.quarantine import QuarantinedItem, WritesOfDay
from memory.models.request import RequestMinute
from memory.models.search import EmbeddingModel, IndexChange, MemoryVector, Posting
from memory.models.session import Session
from memory.models.training import Adapter, TrainingDataset, TrainingPart, TrainingSource
from memory.models.upkeep import MemoryUpkeep, UpkeepMark
from memory.models.upload import Upload, UploadPart
from memory.models.usage import ModelCall, UsageDay, UsageReservation
from memory.models.user import User, UserErasure, UserNamespace
from memory.models.webhook import Webhook, WebhookDelivery

__all__ = [
    "HOLDS_ON",
    "ActivationCache",
    "Adapter",
    "ApiKey",
    "AuditLog",
    "AuditSeal",
    "AuditWords",
    "BulkChange",
    "BulkChangeMemory",
    "CommonTerm",
    "Condensation",
    "ContextPack",
    "Corpus",
    "Cube",
    "CubeFile",
    "CubeFilePart",
    "CubeShare",
    "Document",
    "DocumentChunk",
    "DocumentFile",
    "DocumentFilePart",
    "EmbeddingModel",
    "Entity",
    "EntityAlias",
    "EntityMention",
    "EntityPending",
    "EntityRelation",
    "EntityWatermark",
    "ErasedMemory",
    "ErasedSession",
    "Erasure",
    "EvaluationResult",
    "EvaluationRun",
    "IdempotencyRecord",
    "ImportPart",
    "ImportedTurn",
    "IndexChange",
    "Job",
    "Memory",
    "MemoryFeedback",
    "MemoryImport",
    "MemoryLink",
    "MemoryUpkeep",
    "MemoryVector",
    "MemoryVersion",
    "ModelCall",
    "Namespace",
    "NamespacePolicy",
    "NamespaceStat",
    "Posting",
    "Procedure",
    "ProjectedMemory",
    "Projection",
    "QuarantinedItem",
    "RelevanceJudgement",
    "RequestMinute",
    "RetiredStatement",
    "Session",
    "StaleSource",
    "TrainingDataset",
    "TrainingPart",
    "TrainingSource",
    "UnsurePair",
    "UpkeepMark",
    "Upload",
    "UploadPart",
    "UsageDay",
    "UsageReservation",
    "User",
    "UserErasure",
    "UserNamespace",
    "Webhook",
    "WebhookDelivery",
    "WritesOfDay",
]
