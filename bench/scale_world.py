"""The synthetic world of `scale.py`: vectors in topics, words by Zipf's law, and rows written by COPY."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
from django.db import connection

from memory.models import Memory, Namespace
from memory.models.memory import content_hash

# The number of namespaces of each size in memories. The first of each is measured; FILLER fills the table.
SIZES = {100: 20, 1_000: 10, 5_000: 4, 10_000: 1, 20_000: 1, 100_000: 1, 500_000: 1}
FILLER = 8_000
TOTAL = 1_000_000
# Beyond TOTAL, the table grows by namespaces of Zipf sizes, up to this many, until it has the requested memories.
NAMESPACES = 20_000
CHUNK = 25_000
VOCABULARY = 200_000
WORD_BYTES = 7
TURNS_A_SESSION = 40


class World:
    """Generates vectors and words, the same in every run."""

    def __init__(self, dimensions: int) -> None:
        chance = np.random.default_rng(20)
        self.dimensions = dimensions
        self.topics = self._directions(chance, 2_000)
        self.subtopics = self._directions(chance, 100_000)
        ranks = np.arange(VOCABULARY)
        # Zipf-Mandelbrot; the commonest word is in about a fifth of the memories, as after taking stop words out.
        self.words = np.cumsum(1 / (ranks + 3.7))
        self.words /= self.words[-1]

    def _directions(self, chance: np.random.Generator, count: int) -> np.ndarray:
        rows = chance.standard_normal((count, self.dimensions), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def vectors(self, chance: np.random.Generator, count: int) -> np.ndarray:
        """Generates unit vectors, of which some topics have many more than others."""
        topic = (len(self.topics) * chance.random(count) ** 2).astype(int)
        subtopic = topic * 50 + chance.integers(0, 50, count)
        return _unit(self.topics[topic] + 0.9 * self.subtopics[subtopic] + 0.7 * self._directions(chance, count))

    def questions(self, chance: np.random.Generator, near: np.ndarray) -> np.ndarray:
        return _unit(near + 0.9 * self._directions(chance, len(near)))

    def texts(self, chance: np.random.Generator, count: int) -> list[np.ndarray]:
        """Generates the words of each memory as numbers, about 12 each."""
        lengths = np.clip(chance.lognormal(2.4, 0.5, count).astype(int), 3, 60)
        drawn = np.searchsorted(self.words, chance.random(lengths.sum()))
        return np.split(drawn, np.cumsum(lengths)[:-1])


def _unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def word(number: int) -> str:
    return f"w{number:0{WORD_BYTES - 1}d}"


def plan() -> list[tuple[str, int]]:
    """Lists (name, memories) of every namespace, small ones first."""
    named = [(f"scale-{size}-{number}", size) for size, count in SIZES.items() for number in range(count)]
    left = TOTAL - sum(size for _, size in named)
    fillers = [(f"scale-filler-{start}", min(FILLER, left - start)) for start in range(0, left, FILLER)]
    return sorted([*named, *fillers], key=lambda entry: entry[1])


def plan_growth(total: int) -> list[tuple[str, int]]:
    """Lists (name, memories) of the namespaces that grow a table from TOTAL to `total` memories, of Zipf sizes.

    Their order is random but always the same, so that a part of them is a mixture like the whole.
    """
    ranks = np.arange(1, NAMESPACES - len(plan()) + 1)
    shares = (1 / ranks) / (1 / ranks).sum()
    sizes = np.maximum(1, np.round(shares * (total - TOTAL))).astype(int)
    order = np.random.default_rng(5).permutation(len(ranks))
    return [(f"scale-zipf-{total}-{ranks[row]}", int(sizes[row])) for row in order]


def fill(world: World, name: str, size: int, *, model_id: int) -> bool:
    """Writes one namespace in a transaction, unless it exists; returns whether it did."""
    namespace, _ = Namespace.objects.get_or_create(name=name)
    if Memory.objects.filter(namespace=namespace).exists():
        return False
    chance = np.random.default_rng(namespace.pk)
    total_terms = 0
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        # Triggers are off: no process holds this namespace's index in memory yet, so changes need not be recorded.
        cursor.execute("SET LOCAL session_replication_role = replica")
        for start in range(0, size, CHUNK):
            count = min(CHUNK, size - start)
            ids = _ids(chance, start, count)
            texts = world.texts(chance, count)
            _copy(
                cursor, "memory_memory", _MEMORY_COLUMNS, _memory_lines(namespace.pk, ids, texts, start), binary=False
            )
            _copy(cursor, "memory_memoryvector", _VECTOR_COLUMNS, [
                _binary(
                    (">i8", np.full(count, namespace.pk)), (">i2", np.full(count, model_id)), ("V16", ids),
                    (f"V{4 + 2 * world.dimensions}", _halfvec(world.vectors(chance, count))),
                    ("u1", np.ones(count)),
                )
            ])  # fmt: skip
            _copy(cursor, "memory_posting", _POSTING_COLUMNS, [_postings(namespace.pk, ids, texts)])
            total_terms += sum(map(len, texts))
        cursor.execute(
            "INSERT INTO memory_namespacestat (namespace_id, shard, memories, terms) VALUES (%s, 0, %s, %s)",
            [namespace.pk, size, total_terms],
        )
        cursor.execute(_SESSIONS, [namespace.pk])
        cursor.execute("COMMIT")
    return True


_MEMORY_COLUMNS = (
    "id, namespace_id, session, turn, role, speaker, text, metadata, importance, tier, state, occurred_at, created_at, "
    "content_hash, terms, length, tokens, embedded"
)
_VECTOR_COLUMNS = "namespace_id, model_id, memory_id, embedding, searchable"
_POSTING_COLUMNS = "namespace_id, term, memory_id, frequency, length"
# The sessions are marked as processed by the worker, which would otherwise read and compare a million synthetic
# memories for an hour during the measurements.
_SESSIONS = """
WITH sessions AS (
    INSERT INTO memory_session (namespace_id, name, message_count, summarised_turn, settled_turn, first_message_at,
                                last_message_at)
    SELECT namespace_id, session, count(*), count(*), count(*), min(created_at), max(created_at)
    FROM memory_memory WHERE namespace_id = %s GROUP BY namespace_id, session
    RETURNING namespace_id, name, message_count
)
INSERT INTO memory_entitywatermark (namespace_id, session, turn)
SELECT namespace_id, name, message_count FROM sessions
"""


def _ids(chance: np.random.Generator, start: int, count: int) -> np.ndarray:
    """Makes UUIDv7 in order, one a millisecond."""
    raw = chance.integers(0, 256, (count, 16), dtype=np.uint8)
    milliseconds = (1_700_000_000_000 + start + np.arange(count)).astype(">u8")
    raw[:, :6] = milliseconds.view(np.uint8).reshape(count, 8)[:, 2:]
    raw[:, 6] = 0x70 | (raw[:, 6] & 0x0F)
    raw[:, 8] = 0x80 | (raw[:, 8] & 0x3F)
    return raw.view("V16").reshape(count)


def _memory_lines(namespace_id: int, ids: np.ndarray, texts: list[np.ndarray], start: int) -> Iterator[bytes]:
    when = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    for row, numbers in enumerate(texts):
        words = [word(number) for number in numbers]
        text = " ".join(words)
        session, turn = divmod(start + row, TURNS_A_SESSION)
        distinct = ",".join(dict.fromkeys(words))
        yield (
            f"{ids[row].tobytes().hex()}\t{namespace_id}\ts{session}\t{turn + 1}\tuser\t\t{text}\t{{}}\t0.5\tL2\tactive"
            f"\t{when}\t{when}\t\\\\x{content_hash(text).hex()}\t{{{distinct}}}\t{len(words)}\t{3 * len(words)}\tt\n"
        ).encode()


def _halfvec(vectors: np.ndarray) -> np.ndarray:
    """Packs vectors in the binary form of `halfvec`: dimensions, a zero, then the values."""
    count, dimensions = vectors.shape
    rows = np.zeros((count, dimensions + 2), dtype=">u2")
    rows[:, 0] = dimensions
    rows[:, 2:] = vectors.astype(">f2").view(">u2")
    return rows.view(f"V{4 + 2 * dimensions}").reshape(count)


def _postings(namespace_id: int, ids: np.ndarray, texts: list[np.ndarray]) -> bytes:
    lengths = np.array([len(numbers) for numbers in texts])
    pairs = np.concatenate(texts).astype(np.int64) * len(texts) + np.repeat(np.arange(len(texts)), lengths)
    # The pairs are sorted by term and memory, which is the order of the key.
    pairs, frequencies = np.unique(pairs, return_counts=True)
    numbers, rows = np.divmod(pairs, len(texts))
    spelled = np.array([word(number).encode() for number in np.unique(numbers)], dtype=f"S{WORD_BYTES}")
    names = spelled[np.searchsorted(np.unique(numbers), numbers)].view(f"V{WORD_BYTES}")
    return _binary(
        (">i8", np.full(len(rows), namespace_id)), (f"V{WORD_BYTES}", names), ("V16", ids[rows]),
        (">i2", frequencies), (">i4", lengths[rows]),
    )  # fmt: skip


def _binary(*columns: tuple[str, np.ndarray]) -> bytes:
    """Writes rows in PostgreSQL's binary COPY format: the number of fields, then the length and value of each."""
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for index, (kind, _) in enumerate(columns):
        layout += [(f"bytes{index}", ">i4"), (f"value{index}", kind)]
    rows = np.empty(len(columns[0][1]), dtype=layout)
    rows["fields"] = len(columns)
    for index, (kind, values) in enumerate(columns):
        rows[f"bytes{index}"] = np.dtype(kind).itemsize
        rows[f"value{index}"] = values
    return rows.tobytes()


def _copy(cursor: object, table: str, columns: str, parts: object, *, binary: bool = True) -> None:
    raw = connection.connection
    with raw.cursor().copy(f"COPY {table} ({columns}) FROM STDIN{' (FORMAT binary)' if binary else ''}") as copy:
        if binary:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for part in parts:
            copy.write(part)
        if binary:
            copy.write(b"\xff\xff")
