"""The rows of MemOS. Every row of a tenant carries `namespace_id`, and it leads the keys that tenant queries use."""

from memory.models.access import ApiKey
from memory.models.audit import AuditLog
from memory.models.condensation import Condensation
from memory.models.document import Document, DocumentChunk
from memory.models.erasure import ErasedMemory, ErasedSession, Erasure
from memory.models.evaluation import EvaluationResult, EvaluationRun, RelevanceJudgement
from memory.models.idempotency import IdempotencyRecord
from memory.models.large import CommonTerm, Corpus, VectorCell, VectorMap
from memory.models.memory import Memory, MemoryVersion
from memory.models.namespace import Namespace, NamespaceStat
from memory.models.pack import ContextPack
from memory.models.procedure import Procedure
from memory.models.search import EmbeddingModel, MemoryVector, Posting
from memory.models.session import Session

__all__ = [
    "ApiKey",
    "AuditLog",
    "CommonTerm",
    "Condensation",
    "ContextPack",
    "Corpus",
    "Document",
    "DocumentChunk",
    "EmbeddingModel",
    "ErasedMemory",
    "ErasedSession",
    "Erasure",
    "EvaluationResult",
    "EvaluationRun",
    "IdempotencyRecord",
    "Memory",
    "MemoryVector",
    "MemoryVersion",
    "Namespace",
    "NamespaceStat",
    "Posting",
    "Procedure",
    "RelevanceJudgement",
    "Session",
    "VectorCell",
    "VectorMap",
]
