"""IVF lists go with their vectors: a namespace that is loaded is searched by the same lists as the one it is of."""

from __future__ import annotations

import base64
import random
import threading
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memory import caches
from memory.models import CubeFile, EmbeddingModel, IVFIndex, IVFList, Memory, MemoryVector, Namespace
from memory.retrieval import ivf
from memory.retrieval.arms import ArmHit, dense, near_lists
from memory.retrieval.question import Question, question
from memory.services.cube_files import load, local, run
from memory.services.cube_files.archive import open_cube
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load_options import LoadOptions
from memory.services.cube_files.local import load_from_file
from memory.services.imports.source import UnreadableImport
from memory.services.index import ivf_lists
from memory.services.index.embedding_model import active_model
from memory.services.index.ivf_transfer import ArrivingLists, FiledPassage
from memory.services.index.upkeep import UpkeepReport, keep_up
from memory.services.ingestion.documents import put_document
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.sessions.reset import reset_session
from memory.services.tenancy.empty_namespace import remove_if_empty
from memory.types import NewDocument, NewMemory, Scope, system_access
from tests.services.cube_files.hostile import make, memory_line, write
from tests.threads import together

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
STAFF = system_access("staff:ann")
WORDS = [
    f"{a}{b}" for a in ("har", "bak", "vio", "gar", "lan", "pil", "mor", "tes") for b in ("bor", "ery", "lin", "den")
]
COUNT = 450
ARCHIVED, UNFILED = 5, 7
DIMENSIONS = 256


@pytest.fixture(autouse=True)
def _small_is_large(settings, monkeypatch):
    """Namespaces are large from 200 memories on; their lists are short and searches look into a part of them."""
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 200
    monkeypatch.setattr(ivf, "VECTORS_PER_LIST", 16)
    monkeypatch.setattr(ivf, "CANDIDATES", 60)
    monkeypatch.setattr(near_lists, "COMPARED", 20)
    monkeypatch.setattr(ivf_lists, "LARGEST", 32)
    monkeypatch.setattr(ivf_lists, "SMALLEST", 4)
    monkeypatch.setattr(ivf_lists, "FILE_AT_LEAST", 20)


def tell(count: int, *, seed: int) -> list[str]:
    """Texts of topics: each has words of its own and is told with some that vary."""
    chance = random.Random(seed)
    topics = [random.Random(number).sample(WORDS, 3) for number in range(40)]
    return [
        " ".join([*chance.choice(topics), *chance.sample(WORDS, 2), f"detail{chance.randrange(400)}"])
        for _ in range(count)
    ]


QUESTIONS = tell(60, seed=3)


def fill(scope: Scope, texts: list[str], *, session: str = "s") -> list[uuid.UUID]:
    told = [(scope, NewMemory(f"{session}{number % 5}", "user", text)) for number, text in enumerate(texts)]
    return [
        one for start in range(0, len(told), 300) for one in ingest_batch(told[start : start + 300], now=NOW).memory_ids
    ]


@pytest.fixture
def cube(alice, tmp_path) -> Path:
    """Of a namespace with lists, which hold archived memories, passages of one document, and not what came last."""
    fill(alice.scope, tell(COUNT - UNFILED, seed=1))
    put_document(alice.scope, document=NewDocument("\n\n".join(tell(200, seed=9)), document_id="long.md"), now=NOW)
    keep_up(now=NOW)
    gone = Memory.objects.in_scope(alice.scope).filter(session="s1").order_by("turn").values_list("pk", flat=True)
    edit.archive(STAFF, memory_ids=list(gone[:ARCHIVED]), reason="old", now=NOW)
    fill(alice.scope, tell(UNFILED, seed=5))
    path = tmp_path / "alice.memcube"
    write_cube(alice.scope, path, options=DumpOptions(vectors=True), now=NOW)
    return path


def load_cube(scope: Scope, path: Path, *, dry_run: bool = False, **options: Any) -> dict[str, dict[str, int]]:
    outcome = load_from_file(
        scope, path, options=LoadOptions(**options), dry_run=dry_run, clock=timezone.now, report=lambda *_: None
    )
    return {part: dict(+counts) for part, counts in outcome.counts.items()} | {"faults": outcome.faults}


def asked(text: str) -> Question:
    model = active_model()
    vector = model.provider.embed([text])[0]
    return question(text, vector=vector, model_id=model.id, familiarity=1.0, now=NOW)


def look(scope: Scope, search: Any = near_lists.search) -> list[list[tuple[str, float]]]:
    """What a search of lists finds of each question, and how near it is."""
    caches.forget_all()
    found = []
    for text in QUESTIONS:
        hits: list[ArmHit] = search(scope, asked(text), limit=10)
        texts = dict(
            Memory.objects.in_scope(scope).filter(pk__in=[h.memory_id for h in hits]).values_list("pk", "text")
        )
        found.append([(texts[uuid.UUID(hit.memory_id)], round(hit.score, 6)) for hit in hits])
    return found


def lists_of(scope: Scope) -> dict[int, tuple[bytes, int, list[str]]]:
    """By number, the centroid of each list, its unsplit size, and the texts of whose vectors it holds."""
    texts = dict(Memory.objects.in_scope(scope).values_list("pk", "text"))
    found = {}
    for row in IVFList.objects.in_scope(scope):
        ids = ivf.read_ids(np.frombuffer(row.codes, dtype=ivf.code_dtype(DIMENSIONS)))
        assert row.size == len(ids)
        found[row.number] = (bytes(row.centroid), row.unsplit_size, sorted(texts[one] for one in ids))
    return found


def check_lists(scope: Scope) -> None:
    """Every vector that is marked as filed is in a list, as often as it should be, and no other is."""
    filed = MemoryVector.objects.in_scope(scope).filter(filed=True).values_list("memory_id", flat=True)
    rows = IVFList.objects.in_scope(scope)
    codes = [np.frombuffer(row.codes, dtype=ivf.code_dtype(DIMENSIONS)) for row in rows]
    assert sorted(one for own in codes for one in ivf.read_ids(own)) == sorted(filed)
    assert [row.size for row in rows] == [len(own) for own in codes]


def unfiled(scope: Scope) -> int:
    return MemoryVector.objects.in_scope(scope).filter(filed=False).count()


@pytest.mark.django_db
def test_a_search_by_lists_finds_the_same(alice, bob, make_tenant, cube, tmp_path):
    before = look(alice.scope)
    assert load_cube(bob.scope, cube, dry_run=True)["ivf_lists"] == {"new": len(lists_of(alice.scope))}
    assert not IVFIndex.objects.in_scope(bob.scope).exists()
    counts = load_cube(bob.scope, cube)

    assert counts["ivf_lists"] == {"new": len(lists_of(alice.scope))}
    assert lists_of(bob.scope) == lists_of(alice.scope)
    check_lists(bob.scope)
    assert unfiled(bob.scope) == unfiled(alice.scope) > 0
    assert look(bob.scope) == before
    # Lists were looked into: comparing every vector finds something else.
    assert look(bob.scope, dense.exact) != before
    # The worker finds nothing to do in either that it would not do in the other.
    assert keep_up(now=NOW).filed == 0
    assert look(bob.scope) == look(alice.scope) == before

    # With lists of its own, a namespace of the same memories answers otherwise.
    other = make_tenant("olga").scope
    IVFIndex.objects.create(namespace_id=other.namespace_id, model_id=active_model().id)
    assert load_cube(other, cube)["ivf_lists"] == {"left_out": len(lists_of(alice.scope))}
    IVFIndex.objects.in_scope(other).delete()
    keep_up(now=NOW)
    assert look(other) != before

    # Dumped again, the file has the same lists.
    again = tmp_path / "bob.memcube"
    write_cube(bob.scope, again, options=DumpOptions(vectors=True), now=NOW)
    first, second = open_cube(cube).manifest, open_cube(again).manifest
    assert first.parts["ivf_lists"] == second.parts["ivf_lists"]


@pytest.mark.django_db
def test_several_passages_of_a_memory_are_each_in_their_list(alice, bob, tmp_path):
    long = " ".join(f"{text}." for text in tell(200, seed=4))
    (memory,) = ingest_batch([(alice.scope, NewMemory("long", "user", long))], now=NOW).memory_ids
    fill(alice.scope, tell(300, seed=1))
    assert MemoryVector.objects.in_scope(alice.scope).filter(memory_id=memory).count() > 5
    keep_up(now=NOW)
    # A code of what the memory said once stays in a list for a while.
    edited = Memory.objects.in_scope(alice.scope).filter(session="s2").order_by("turn")[0]
    edit.edit(STAFF, memory_id=edited.pk, text="a submarine dives", reason="typo", now=NOW)
    path = tmp_path / "alice.memcube"
    write_cube(alice.scope, path, options=DumpOptions(vectors=True), now=NOW)

    load_cube(bob.scope, path)
    check_lists(bob.scope)
    assert unfiled(bob.scope) == unfiled(alice.scope) == 1
    theirs, mine = lists_of(alice.scope), lists_of(bob.scope)
    for number, (_, _, texts) in mine.items():
        assert texts == sorted(text for text in theirs[number][2] if text != "a submarine dives")
    # The worker takes the former code out where it is.
    IVFList.objects.across_namespaces().update(refreshed_at=datetime(2000, 1, 1, tzinfo=UTC))
    keep_up(now=NOW)
    assert lists_of(bob.scope) == lists_of(alice.scope)
    assert look(bob.scope) == look(alice.scope)


@pytest.mark.django_db
def test_what_has_memories_of_its_own_keeps_its_lists(alice, bob, cube):
    fill(bob.scope, tell(300, seed=8), session="own")
    counts = load_cube(bob.scope, cube)
    assert counts["ivf_lists"] == {"left_out": len(lists_of(alice.scope))}
    assert not IVFIndex.objects.in_scope(bob.scope).exists()
    assert look(bob.scope) == look(bob.scope, dense.exact)

    keep_up(now=NOW)
    before = lists_of(bob.scope)
    assert load_cube(bob.scope, cube)["memories"] == {"present": counts["memories"]["new"]}
    assert lists_of(bob.scope) == before
    check_lists(bob.scope)


@pytest.mark.django_db
def test_a_second_load_changes_nothing(bob, cube):
    load_cube(bob.scope, cube)
    before = lists_of(bob.scope)
    versions = list(IVFIndex.objects.in_scope(bob.scope).values_list("version"))

    assert load_cube(bob.scope, cube)["ivf_lists"] == {"left_out": len(before)}
    assert lists_of(bob.scope) == before
    assert list(IVFIndex.objects.in_scope(bob.scope).values_list("version")) == versions
    check_lists(bob.scope)


@pytest.mark.django_db
def test_vectors_of_another_model_and_small_namespaces_have_no_lists(alice, bob, cube, settings):
    count = len(lists_of(alice.scope))
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 100_000
    assert load_cube(bob.scope, cube)["ivf_lists"] == {"left_out": count}
    assert unfiled(bob.scope) == MemoryVector.objects.in_scope(alice.scope).count()

    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 200
    reset = Scope(Namespace.objects.create(name="carol").pk, "carol", "tests", "tests")
    EmbeddingModel.objects.update(name="another")
    assert load_cube(reset, cube)["ivf_lists"] == {"left_out": count}
    assert not IVFIndex.objects.in_scope(reset).exists()
    assert not MemoryVector.objects.in_scope(reset).exists()


@pytest.mark.django_db
def test_without_vectors_or_lists_a_file_is_as_it_was(alice, bob, cube, tmp_path):
    write_cube(alice.scope, tmp_path / "bare", options=DumpOptions(), now=NOW)
    bare = open_cube(tmp_path / "bare")
    assert "ivf_lists" not in bare.manifest.parts
    assert not any("lists" in line for _, line in bare.lines("memories"))

    fill(bob.scope, tell(300, seed=1))
    write_cube(bob.scope, tmp_path / "listless", options=DumpOptions(vectors=True), now=NOW)
    assert "ivf_lists" not in open_cube(tmp_path / "listless").manifest.parts


@pytest.mark.django_db
def test_lists_are_whole_after_what_is_left_out(alice, bob, cube):
    """Of a session that was reset here nothing comes; its lists are joined to others by the next run."""
    theirs = lists_of(alice.scope)
    load_cube(bob.scope, cube)
    reset_session(bob.scope, session="s1", dry_run=False, clear_audit=False, now=timezone.now())
    keep_up(now=timezone.now())
    IVFIndex.objects.in_scope(bob.scope).delete()
    IVFList.objects.in_scope(bob.scope).delete()
    Memory.objects.in_scope(bob.scope).exclude(session="s1").delete()
    MemoryVector.objects.in_scope(bob.scope).delete()

    counts = load_cube(bob.scope, cube)
    assert counts["ivf_lists"] == {"new": len(theirs)}
    check_lists(bob.scope)
    lost = {number for number, one in lists_of(bob.scope).items() if one[2] != theirs[number][2]}
    assert lost
    assert set(
        IVFList.objects.in_scope(bob.scope).filter(refreshed_at__year=2000).values_list("number", flat=True)
    ) == (lost)
    keep_up(now=timezone.now())
    check_lists(bob.scope)


class Killed(BaseException):
    """As if the process had ended."""


@pytest.mark.django_db
def test_a_load_that_was_killed_goes_on(alice, bob, cube, monkeypatch):
    before = look(alice.scope)
    monkeypatch.setattr(load, "BATCH", 50)
    store, batches = local.store_batch, [0]

    def die(*arguments: Any, **named: Any) -> None:
        batches[0] += 1
        if batches[0] in (3, 9):
            raise Killed
        store(*arguments, **named)
        # The worker looks at it in the middle.
        keep_up(now=NOW)
        check_lists(bob.scope)

    file, filed = ArrivingLists.file, [0]

    def die_in_a_batch(*arguments: Any) -> int:
        found = file(*arguments)
        filed[0] += 1
        if filed[0] == 2:
            raise Killed
        return found

    monkeypatch.setattr(local, "store_batch", die)
    monkeypatch.setattr(ArrivingLists, "file", die_in_a_batch)
    for _ in range(3):
        with pytest.raises(Killed):
            load_cube(bob.scope, cube)
        check_lists(bob.scope)
    load_cube(bob.scope, cube)

    assert lists_of(bob.scope) == lists_of(alice.scope)
    check_lists(bob.scope)
    assert look(bob.scope) == before


@pytest.mark.django_db(transaction=True)
def test_a_load_and_the_worker_at_the_same_time(alice, bob, cube, monkeypatch):
    monkeypatch.setattr(load, "BATCH", 20)
    over, compared = threading.Event(), [0]

    def act(number: int) -> None:
        if number:
            while not over.is_set():
                for one in IVFList.objects.in_scope(bob.scope).filter(size__gte=8).values_list("number", flat=True):
                    rows = IVFList.objects.in_scope(bob.scope).filter(number=one)
                    rows.update(refreshed_at=datetime(2000, 1, 1, tzinfo=UTC))
                compared[0] += keep_up(now=NOW, seconds=5).lists
            return
        try:
            load_cube(bob.scope, cube)
        finally:
            over.set()

    together(2, act)
    assert compared[0] > 0
    check_lists(bob.scope)
    assert set(lists_of(bob.scope)) == set(lists_of(alice.scope))
    assert unfiled(bob.scope) <= UNFILED + ARCHIVED


@pytest.mark.django_db
def test_a_job_in_many_runs_brings_the_same(alice, bob, cube, monkeypatch):
    before = look(alice.scope)
    monkeypatch.setattr(load, "BATCH", 30)
    file = SimpleUploadedFile("alice.memcube", cube.read_bytes())
    sent = bob.client.post("/v1/cubes/load", {"namespace": "bob", "file": file})
    assert sent.status_code == 200, sent.content
    row = CubeFile.objects.in_scope(bob.scope).get()
    while row.finished_at is None:
        run.carry_out_load(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now, seconds=0)
        row.refresh_from_db()

    assert row.problem == ""
    assert row.done == row.total
    assert row.counts["ivf_lists"] == {"new": len(lists_of(alice.scope))}
    assert lists_of(bob.scope) == lists_of(alice.scope)
    assert look(bob.scope) == before


@pytest.mark.django_db
def test_lists_that_the_worker_changes_in_the_middle_take_no_more(alice, bob, cube, monkeypatch):
    monkeypatch.setattr(load, "BATCH", 50)
    store, batches = local.store_batch, [0]

    def change(*arguments: Any, **named: Any) -> None:
        store(*arguments, **named)
        batches[0] += 1
        if batches[0] == 8:
            IVFIndex.objects.in_scope(bob.scope).update(version=uuid.uuid4())

    monkeypatch.setattr(local, "store_batch", change)
    load_cube(bob.scope, cube)
    check_lists(bob.scope)
    assert unfiled(bob.scope) > UNFILED
    keep_up(now=NOW)
    check_lists(bob.scope)
    assert unfiled(bob.scope) == 0


@pytest.mark.django_db
def test_what_a_load_adds_while_the_worker_compares_a_list_stays(alice, monkeypatch):
    fill(alice.scope, tell(300, seed=1))
    keep_up(now=NOW)
    (new,) = fill(alice.scope, ["the zeppelin has landed"])
    number = IVFList.objects.in_scope(alice.scope).order_by("number")[0].number
    version = IVFIndex.objects.in_scope(alice.scope).get().version
    arriving = ArrivingLists(alice.scope, active_model().id, version, uuid.uuid4())
    vector = np.asarray(MemoryVector.objects.in_scope(alice.scope).get(memory_id=new).embedding, dtype=np.float32)
    compare, times = ivf_lists._live, [0]

    def add(*arguments: Any) -> Any:
        found = compare(*arguments)
        times[0] += 1
        if times[0] == 1:
            assert arriving.file([FiledPassage(new, 0, vector, number)]) == 1
        return found

    monkeypatch.setattr(ivf_lists, "_live", add)
    IVFList.objects.in_scope(alice.scope).filter(number=number).update(refreshed_at=datetime(2000, 1, 1, tzinfo=UTC))
    keep_up(now=NOW)
    check_lists(alice.scope)
    # It was read again, with what was added.
    assert times[0] == 2
    assert keep_up(now=NOW) == UpkeepReport()
    # It is added once.
    assert arriving.file([FiledPassage(new, 0, vector, number)]) == 0
    check_lists(alice.scope)


@pytest.mark.django_db
def test_a_namespace_that_only_has_empty_lists_is_empty(alice, cube):
    made = Scope(Namespace.objects.create(name="carol").pk, "carol", "tests", "tests")
    index = IVFIndex.objects.create(namespace_id=made.namespace_id, model_id=active_model().id)
    IVFList.objects.create(namespace_id=index.namespace_id, model_id=index.model_id, number=1, centroid=b"\0\0" * 256)

    assert remove_if_empty(made.namespace_id)
    assert not IVFIndex.objects.in_scope(made).exists()
    assert not IVFList.objects.in_scope(made).exists()


def vector(*values: float, count: int = DIMENSIONS) -> str:
    numbers = np.zeros(count, dtype="<f2")
    numbers[: len(values)] = values
    return base64.b64encode(numbers.tobytes()).decode()


def list_line(number: Any = 1, **fields: Any) -> dict[str, Any]:
    return {"number": number, "centroid": vector(1), "size": 1, "unsplit_size": 0, **fields}


def craft(tmp_path: Path, given: list[dict[str, Any]], **fields: Any) -> Path:
    """A file of three memories, of which the first has a vector in list 1 unless `fields` say otherwise."""
    model = active_model()
    first = memory_line(1, **{"vectors": [vector(1)], "lists": [1], **fields})
    said = {"provider": model.provider_name, "name": model.name, "dimensions": model.dimensions}
    parts = {"ivf_lists": given, "memories": [first, memory_line(2), memory_line(3)]}
    return write(tmp_path, make(parts, manifest={"model": said}))


@pytest.fixture
def _large_at_once(settings):
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 2


@pytest.mark.django_db
@pytest.mark.usefixtures("_large_at_once")
class TestCraftedFiles:
    def test_the_crafted_file_is_one_that_is_loaded(self, alice, tmp_path):
        found = load_cube(alice.scope, craft(tmp_path, [list_line()]))
        assert (found["ivf_lists"], found["faults"]) == ({"new": 1}, [])
        assert IVFList.objects.in_scope(alice.scope).get().size == 1
        check_lists(alice.scope)

    @pytest.mark.parametrize(
        "fields",
        [
            {"centroid": vector(1, count=255)},
            {"centroid": vector(1, count=384)},
            {"centroid": vector(float("nan"))},
            {"centroid": vector(float("inf"))},
            {"centroid": "AAA"},
            {"centroid": None},
            {"centroid": [1, 2]},
            {"number": 0},
            {"number": -1},
            {"number": 2**31},
            {"number": "one"},
            {"number": None},
            {"size": -1},
            {"size": 2**40},
            {"unsplit_size": -5},
            {"unsplit_size": None},
        ],
    )
    def test_a_list_that_is_none_stays_out(self, alice, tmp_path, fields):
        found = load_cube(alice.scope, craft(tmp_path, [list_line(**fields), list_line(2)]))

        assert found["ivf_lists"] == {"new": 1, "unreadable": 1}
        assert [fault["place"] for fault in found["faults"]] == ["ivf_lists, line 1"]
        assert IVFList.objects.in_scope(alice.scope).get().number == 2
        # The vector whose list is not here is compared as one that is in none.
        assert found["memories"] == {"new": 3}
        assert unfiled(alice.scope) == 1
        check_lists(alice.scope)

    @pytest.mark.parametrize(
        "lists", [[1, 1], ["1"], [1.5], [True], [0], [-1], [2**31], [[1]], {"1": 1}, "1", [None, None]]
    )
    def test_a_memory_whose_lists_are_none_is_unreadable(self, alice, tmp_path, lists):
        found = load_cube(alice.scope, craft(tmp_path, [list_line()], lists=lists))

        assert found["memories"] == {"new": 2, "unreadable": 1}
        check_lists(alice.scope)

    def test_a_list_that_is_not_in_the_file_holds_nothing(self, alice, tmp_path):
        found = load_cube(alice.scope, craft(tmp_path, [list_line()], lists=[7]))

        assert (found["memories"], found["ivf_lists"]) == ({"new": 3}, {"new": 1})
        assert unfiled(alice.scope) == 1
        (hit,) = near_lists.search(alice.scope, asked("bees"), limit=1)
        assert hit.memory_id
        check_lists(alice.scope)

    def test_two_lists_of_one_number(self, alice, tmp_path):
        found = load_cube(alice.scope, craft(tmp_path, [list_line(), list_line(centroid=vector(0, 1))]))

        assert found["ivf_lists"]["new"] == 1
        assert bytes(IVFList.objects.in_scope(alice.scope).get().centroid) == base64.b64decode(vector(1))
        check_lists(alice.scope)

    def test_more_lists_than_memories_are_refused(self, alice, tmp_path):
        path = craft(tmp_path, [list_line(number) for number in range(1, 5)])
        with pytest.raises(UnreadableImport, match="4 lists of vectors, more than memories"):
            load_cube(alice.scope, path)
        assert not IVFIndex.objects.in_scope(alice.scope).exists()

    def test_lists_of_an_unknown_sender_stay_out(self, alice, tmp_path):
        model = active_model()
        said = {"provider": model.provider_name, "name": model.name, "dimensions": model.dimensions}
        memories = [memory_line(number, vectors=[vector(1)], lists=[1]) for number in range(1, 4)]
        content = make({"ivf_lists": [list_line()], "memories": memories}, signed=False, manifest={"model": said})
        found = load_cube(alice.scope, write(tmp_path, content), unknown_sender=True)
        assert found["ivf_lists"] == {"left_out": 1}
        assert not IVFIndex.objects.in_scope(alice.scope).exists()


def test_lines_of_lists_are_small():
    assert len(orjson.dumps(list_line(centroid=vector(1, count=384)))) < 1_200
