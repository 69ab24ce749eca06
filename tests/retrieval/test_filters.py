"""The filter language: refusals, meaning, and that a filter narrows the search itself."""

from __future__ import annotations

import operator
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.models import Memory
from memory.models.sql import fetch
from memory.retrieval.arms import dense, lexical
from memory.retrieval.filters import (
    All,
    AnyOf,
    Condition,
    FilterError,
    MemoryField,
    MetadataPath,
    Not,
    Operator,
    parse,
)
from memory.retrieval.pipeline import retrieve
from memory.retrieval.predicate import predicate
from memory.retrieval.question import Question, question
from memory.services.index.embedding_model import active_model
from memory.services.index.missing_vectors import embed_pending
from memory.services.memories.edit import edit
from memory.types import system_access

DAY = datetime(2026, 5, 8, tzinfo=UTC)


def nested(word: str, levels: int) -> Any:
    data: Any = {"role": "user"}
    for _ in range(levels):
        data = {word: data} if word == "not" else {word: [data]}
    return data


@pytest.mark.parametrize(
    ("data", "place", "problem"),
    [
        ([], "", "must be an object"),
        ("role", "", "must be an object"),
        (
            {"colour": "red"},
            "colour",
            "is no field. There are metadata.<key>, id, text, role, speaker, session_id, tier",
        ),
        ({"metadata": {"a": 1}}, "metadata", "is no field"),
        ({"metadata.": 1}, "metadata.", "names no key"),
        ({"metadata.a..b": 1}, "metadata.a..b", "names no key"),
        ({"metadata.a\\b": 1}, "metadata.a\\b", "names no key"),
        ({"metadata." + ".".join("k" * 17): 1}, "metadata." + ".".join("k" * 17), "more than 16 levels"),
        ({"m" * 501: 1}, "", "a name of more than 500 characters"),
        ({"metadata.a\0": 1}, "", "a name with a NUL"),
        ({"and": {}}, "and", "must be a list"),
        ({"or": []}, "or", "must hold 1 to 100"),
        ({"or": [{"role": "user"}, 3]}, "or[1]", "must be an object"),
        ({"or": [{"role": "user"}, {}]}, "or[1]", "must not be empty"),
        ({"not": {}}, "not", "must not be empty"),
        ({"not": {"role": "boss"}}, "not.role", "must be one of user, agent, system, tool"),
        ({"role": {}}, "role", "must not be empty"),
        ({"id": "seven"}, "id", "must be the id of a memory"),
        ({"id": {"in": [7]}}, "id.in[0]", "must be a string"),
        ({"text": "ferry"}, "text", "'eq' is no operator for it. There are contains, icontains."),
        ({"metadata.a": {"icontains": "x"}}, "metadata.a", "'icontains' is no operator for it"),
        ({"updated_at": {"gte": "soon"}}, "updated_at.gte", "must be an ISO 8601 date"),
        ({"role": {"gt": "user"}}, "role", "'gt' is no operator for it. There are eq, ne, in."),
        ({"metadata.a": {"$eq": 1}}, "metadata.a", "'$eq' is no operator for it"),
        ({"metadata.a": {"x" * 600: 1}}, "metadata.a", "A name is no operator for it"),
        ({"metadata.a": {"b": 1}}, "metadata.a", "A key inside it is written with a dot"),
        ({"metadata.a": [1]}, "metadata.a", "`in` takes a list"),
        ({"metadata.a": {"eq": {"b": 1}}}, "metadata.a.eq", "must be a string, a number, true, false or null"),
        ({"metadata.a": {"gt": True}}, "metadata.a.gt", "must be a number or a string"),
        ({"metadata.a": {"lt": None}}, "metadata.a.lt", "must be a number or a string"),
        ({"metadata.a": {"exists": 1}}, "metadata.a.exists", "must be true or false"),
        ({"metadata.a": {"in": "x"}}, "metadata.a.in", "must be a list"),
        ({"metadata.a": {"in": []}}, "metadata.a.in", "must hold 1 to 100"),
        ({"metadata.a": {"in": ["x"] * 101}}, "metadata.a.in", "must hold 1 to 100"),
        ({"metadata.a": {"in": ["x", ["y"]]}}, "metadata.a.in[1]", "must be a string"),
        ({"metadata.a": {"contains": ["x"]}}, "metadata.a.contains", "must be a string"),
        ({"metadata.a": "x\0"}, "metadata.a", "holds a NUL"),
        ({"metadata.a": "x" * 2001}, "metadata.a", "more than 2000 characters"),
        ({"metadata.a": 2**64}, "metadata.a", "cannot be stored"),
        ({"metadata.a": {"gte": -(2**63) - 1}}, "metadata.a.gte", "cannot be stored"),
        ({"metadata.a": float("nan")}, "metadata.a", "cannot be stored"),
        ({"importance": {"lt": float("inf")}}, "importance.lt", "cannot be stored"),
        ({"importance": "high"}, "importance", "must be a number"),
        ({"importance": True}, "importance", "must be a number"),
        ({"speaker": 3}, "speaker", "must be a string"),
        ({"session_id": {"in": ["s", None]}}, "session_id.in[1]", "must be a string"),
        ({"tier": "L9"}, "tier", "must be one of L1, L2, L3"),
        ({"occurred_at": {"gte": "last May"}}, "occurred_at.gte", "must be an ISO 8601 date and time"),
        ({"occurred_at": {"gte": "2026-02-30T00:00:00Z"}}, "occurred_at.gte", "must be an ISO 8601 date and time"),
        ({"created_at": 1_700_000_000}, "created_at", "must be a string"),
        ({"occurred_at": {"exists": True}}, "occurred_at", "'exists' is no operator for it"),
        ({f"metadata.k{number}": number for number in range(51)}, "metadata.k50", "one condition too many"),
        (nested("not", 6), "not.not.not.not.not.not", "nested more than 5 levels deep"),
        (nested("and", 20), ".".join(["and[0]"] * 6), "nested more than 5 levels deep"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_place(data, place, problem):
    with pytest.raises(FilterError) as refused:
        parse(data)
    assert refused.value.place == place
    assert problem in refused.value.problem


def test_a_filter_becomes_a_tree():
    assert parse({}) is None
    assert parse({"role": "user"}) == Condition(MemoryField.ROLE, Operator.EQ, "user")
    assert parse({"metadata.a.b": {"gt": 1, "lte": 5}}) == All(
        (
            Condition(MetadataPath(("a", "b")), Operator.GT, 1),
            Condition(MetadataPath(("a", "b")), Operator.LTE, 5),
        )
    )
    assert parse({"or": [{"tier": "L2"}, {"not": {"speaker": {"in": ["Ann", "Bo"]}}}]}) == AnyOf(
        (
            Condition(MemoryField.TIER, Operator.EQ, "L2"),
            Not(Condition(MemoryField.SPEAKER, Operator.IN, ("Ann", "Bo"))),
        )
    )
    assert parse(nested("and", 5)) == All((All((All((All((All((parse({"role": "user"}),)),)),)),)),))


def test_a_dot_in_a_key_is_escaped():
    assert parse({r"metadata.gen_ai\.system.a\\b": 1}) == Condition(
        MetadataPath(("gen_ai.system", "a\\b")), Operator.EQ, 1
    )


def test_a_moment_without_an_offset_is_utc():
    expected = Condition(MemoryField.OCCURRED, Operator.GTE, DAY)
    for text in ("2026-05-08T00:00:00Z", "2026-05-08T00:00:00", "2026-05-08", "2026-05-08T02:00:00+02:00"):
        assert parse({"occurred_at": {"gte": text}}) == expected


def matching(tenant: Any, data: Any, *, as_of: datetime | None = None) -> set[str]:
    """Returns the ids of the memories that meet the filter's SQL."""
    narrowed = predicate(parse(data), as_of=as_of)
    assert narrowed is not None
    parameters = {"namespace_id": tenant.scope.namespace_id, **narrowed.parameters}
    statement = f"SELECT m.id FROM memory_memory m WHERE m.namespace_id = %(namespace_id)s AND {narrowed.sql}"
    return {str(identity) for (identity,) in fetch(statement, parameters, prepared=False)}


METADATA: dict[str, Any] = {
    "absent": {},
    "null": {"k": None},
    "yes": {"k": True},
    "one": {"k": 1},
    "1.0": {"k": 1.0},
    "ten": {"k": 10},
    "huge": {"k": 2**64 - 1},
    "'1'": {"k": "1"},
    "'9'": {"k": "9"},
    "date": {"k": "2026-05-08"},
    "list": {"k": ["a", 1, None, ["deep"]]},
    "object": {"k": {"a": 1, "0": "zero"}},
}


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({"k": 1}, {"one", "1.0"}),
        ({"k": {"eq": "1"}}, {"'1'"}),
        ({"k": None}, {"null"}),
        ({"k": True}, {"yes"}),
        ({"k": 2**64 - 1}, {"huge"}),
        ({"k": {"ne": 1}}, set(METADATA) - {"absent", "one", "1.0"}),
        ({"k": {"in": [1, "1", None]}}, {"one", "1.0", "'1'", "null"}),
        ({"k": {"gt": 1}}, {"ten", "huge"}),
        ({"k": {"gte": 1.0, "lt": 10.5}}, {"one", "1.0", "ten"}),
        ({"k": {"lt": 10**19}}, {"one", "1.0", "ten"}),
        ({"k": {"lte": 0}}, set()),
        # Strings are compared by characters: "10" < "9".
        ({"k": {"gt": "10"}}, {"'9'", "date"}),
        ({"k": {"gte": "2026-05-01", "lt": "2026-06"}}, {"date"}),
        ({"k": {"exists": True}}, set(METADATA) - {"absent"}),
        ({"k": {"exists": False}}, {"absent"}),
        ({"k": {"contains": "a"}}, {"list"}),
        ({"k": {"contains": None}}, {"list"}),
        ({"k": {"contains": 1.0}}, {"list"}),
        ({"k": {"contains": "deep"}}, set()),
        ({"k.a": 1}, {"object"}),
        # A list has no keys.
        ({"k.0": {"exists": True}}, {"object"}),
        ({"k.a.b": {"ne": 1}}, set()),
        ({"other": {"ne": 1}}, set()),
    ],
)
def test_metadata_is_compared_by_type_and_never_an_error(alice, remember, test, expected):
    ids = {remember(alice, name, metadata=metadata): name for name, metadata in METADATA.items()}

    def names(data: Any) -> set[str]:
        return {ids[identity] for identity in matching(alice, data)}

    data = {f"metadata.{path}": value for path, value in test.items()}
    assert names(data) == expected
    assert names({"not": data}) == set(METADATA) - expected


def test_the_fields_of_every_memory(alice, remember):
    ann = remember(alice, "one", speaker="Ann", session="s1", occurred_at=DAY)
    bot = remember(alice, "two", role="agent", session="s2", occurred_at=DAY + timedelta(days=1))
    old = remember(alice, "three", role="tool", session="s2", occurred_at=DAY - timedelta(days=30))
    Memory.objects.across_namespaces().update(importance=0.5)
    Memory.objects.across_namespaces().filter(pk=old).update(created_at=DAY, importance=0.9, tier="L3")

    assert matching(alice, {"role": "user"}) == {ann}
    assert matching(alice, {"role": {"in": ["agent", "tool"]}}) == {bot, old}
    assert matching(alice, {"speaker": {"ne": ""}}) == {ann}
    assert matching(alice, {"session_id": "s2", "role": {"ne": "tool"}}) == {bot}
    assert matching(alice, {"tier": "L3"}) == {old}
    assert matching(alice, {"importance": {"gt": 0.5}}) == {old}
    assert matching(alice, {"importance": {"in": [0.5, 1]}}) == {ann, bot}
    assert matching(alice, {"occurred_at": {"gte": "2026-05-08T00:00:00Z"}}) == {ann, bot}
    assert matching(alice, {"occurred_at": "2026-05-08T08:00:00+08:00"}) == {ann}
    both = {"in": ["2026-05-08T08:00:00+08:00", "2026-05-09"]}
    assert matching(alice, {"occurred_at": both}) == {ann, bot}
    assert matching(alice, {"created_at": {"lte": "2026-05-08"}}) == {old}
    assert matching(alice, {"or": [{"role": "user"}, {"session_id": "s2", "tier": "L3"}]}) == {ann, old}
    assert matching(alice, {"not": {"or": [{"role": "user"}, {"tier": "L3"}]}}) == {bot}
    assert matching(alice, {}, as_of=DAY) == {old}
    assert matching(alice, {"role": "user"}, as_of=DAY) == set()


def test_identities_and_characters(alice, remember):
    ferry = remember(alice, "The FERRY leaves at 9_30%.")
    train = remember(alice, "Der Zug fährt um elf; 渡轮九点开。")

    assert matching(alice, {"id": ferry.upper()}) == {ferry}
    assert matching(alice, {"id": {"in": [ferry, train]}}) == {ferry, train}
    assert matching(alice, {"id": {"ne": ferry}}) == {train}
    assert matching(alice, {"text": {"contains": "FERRY"}}) == {ferry}
    assert matching(alice, {"text": {"contains": "ferry"}}) == set()
    assert matching(alice, {"text": {"icontains": "ferry"}}) == {ferry}
    assert matching(alice, {"text": {"icontains": "FÄHRT"}}) == {train}
    assert matching(alice, {"text": {"contains": "九点"}}) == {train}
    # The text is no pattern: `_` and `%` are plain characters.
    assert matching(alice, {"text": {"contains": "_30%"}}) == {ferry}
    assert matching(alice, {"text": {"contains": "9.30"}}) == set()
    assert matching(alice, {"not": {"text": {"icontains": "ferry"}}}) == {train}


def test_a_memory_is_as_new_as_its_last_correction(alice, remember):
    corrected, untouched = remember(alice, "one"), remember(alice, "two")
    Memory.objects.across_namespaces().update(created_at=DAY)
    access = system_access("tests")
    edit(access, memory_id=uuid.UUID(corrected), text="One.", reason="a capital letter", now=timezone.now())

    assert matching(alice, {"updated_at": {"gt": "2026-05-09"}}) == {corrected}
    assert matching(alice, {"updated_at": {"eq": DAY.isoformat()}}) == {untouched}
    assert matching(alice, {"created_at": {"lte": DAY.isoformat()}}) == {corrected, untouched}


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_the_first_and_last_moments_there_are(alice, remember, moment):
    identity = remember(alice, "one", occurred_at=DAY)
    assert matching(alice, {"or": [{"occurred_at": {op: moment}} for op in ("lt", "gt")]}) == {identity}


SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -2, 10, 0.5, 1.0, 1e300, "", "a", "B", "10", "é", "中", "2026-01-01"]
)
METADATA_OF = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(SCALARS, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c.d"]), inner, max_size=3)
    ),
    max_leaves=6,
)
ROWS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["a", "b", "c.d"]), METADATA_OF, max_size=3),
        st.sampled_from(["user", "agent", "tool"]),
        st.integers(0, 3),
    ),
    min_size=6,
    max_size=6,
)
RANKED = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
OPERATORS = (
    st.tuples(st.sampled_from(["eq", "ne", "contains"]), SCALARS)
    | st.tuples(st.sampled_from(list(RANKED)), SCALARS.filter(lambda value: type(value) in (int, float, str)))
    | st.tuples(st.just("in"), st.lists(SCALARS, min_size=1, max_size=3))
    | st.tuples(st.just("exists"), st.booleans())
)
MOMENTS = st.integers(0, 3).map(lambda days: (DAY + timedelta(days=days)).isoformat())
CONDITIONS = (
    st.tuples(
        st.lists(st.sampled_from(["a", "b", r"c\.d"]), min_size=1, max_size=2).map(
            lambda keys: ".".join(["metadata", *keys])
        ),
        OPERATORS.map(lambda pair: dict([pair])) | SCALARS,
    )
    | st.tuples(st.just("role"), st.sampled_from(["user", "agent", "system"]))
    | st.tuples(
        st.just("occurred_at"), st.tuples(st.sampled_from(list(RANKED)), MOMENTS).map(lambda pair: dict([pair]))
    )
).map(lambda entry: dict([entry]))
FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: (
        st.fixed_dictionaries({"not": inner})
        | st.fixed_dictionaries({"and": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"or": st.lists(inner, min_size=1, max_size=2)})
        | st.tuples(inner, inner).map(lambda pair: {**pair[0], **pair[1]})
    ),
    max_leaves=5,
).filter(lambda data: depth(data) <= 5)
ABSENT = object()


def depth(data: Any) -> int:
    if isinstance(data, list):
        return max(map(depth, data))
    if not isinstance(data, dict):
        return 0
    return max((name in ("and", "or", "not")) + depth(value) for name, value in data.items() if value != [])


def kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def holds(data: dict[str, Any], row: tuple[dict[str, Any], str, int]) -> bool:
    """Evaluates the filter in Python, as a second implementation of its meaning."""
    return all(entry_holds(name, value, row) for name, value in data.items())


def entry_holds(name: str, value: Any, row: tuple[dict[str, Any], str, int]) -> bool:
    metadata, role, days = row
    if name in ("and", "or"):
        return (all if name == "and" else any)(holds(part, row) for part in value)
    if name == "not":
        return not holds(value, row)
    if name == "role":
        return role == value
    if name == "occurred_at":
        ((word, moment),) = value.items()
        return RANKED[word](DAY + timedelta(days=days), datetime.fromisoformat(moment))
    stored: Any = metadata
    for key in name.replace(r"c\.d", "c/d").split(".")[1:]:
        stored = stored.get(key.replace("/", "."), ABSENT) if isinstance(stored, dict) else ABSENT
    ((word, test),) = value.items() if isinstance(value, dict) else [("eq", value)]
    return test_holds(word, stored, test)


def test_holds(word: str, stored: Any, test: Any) -> bool:
    if word == "exists":
        return (stored is not ABSENT) == test
    if word == "in":
        return any(equal(stored, item) for item in test)
    if word == "contains":
        return isinstance(stored, list) and any(equal(item, test) for item in stored)
    if word == "ne":
        return stored is not ABSENT and not equal(stored, test)
    if word == "eq":
        return equal(stored, test)
    return kind(stored) is kind(test) and RANKED[word](stored, test)


test_holds.__test__ = False  # type: ignore[attr-defined]


def equal(stored: Any, test: Any) -> bool:
    return kind(stored) is kind(test) and stored == test


@pytest.fixture
def six(alice: Any, remember: Any) -> list[Memory]:
    return list(
        Memory.objects.across_namespaces().filter(pk__in=[remember(alice, f"memory {number}") for number in range(6)])
    )


@given(rows=ROWS, data=FILTERS)
@settings(
    max_examples=250, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_database_and_python_agree(alice, six, rows, data):
    for memory, (metadata, role, days) in zip(six, rows, strict=True):
        memory.metadata, memory.role, memory.occurred_at = metadata, role, DAY + timedelta(days=days)
    Memory.objects.across_namespaces().bulk_update(six, ["metadata", "role", "occurred_at"])

    expected = {str(memory.pk) for memory, row in zip(six, rows, strict=True) if holds(data, row)}
    assert matching(alice, data) == expected


def asked(text: str, data: Any = None, *, as_of: datetime | None = None) -> Question:
    model = active_model()
    narrowed = predicate(parse(data) if data is not None else None, as_of=as_of)
    return question(
        text, vector=model.provider.embed([text])[0], model_id=model.id, familiarity=1.0, now=DAY, predicate=narrowed
    )


def test_a_filter_finds_all_that_match_however_many_others_are_nearer(alice, remember):
    wanted = {remember(alice, f"tea {number} harbour bakery", metadata={"project": "atlas"}) for number in range(10)}
    # The texts differ by a number, because restatements would count once.
    for number in range(150):
        remember(alice, f"green tea {number}", metadata={"project": "other"})

    unfiltered = retrieve(alice.scope, asked("green tea"), top_k=50)
    assert not wanted & {str(hit.id) for hit in unfiltered.hits}

    narrowed = asked("green tea", {"metadata.project": "atlas"})
    assert {hit.memory_id for hit in dense.search(alice.scope, narrowed, limit=100)} == wanted
    assert {hit.memory_id for hit in lexical.search(alice.scope, narrowed, limit=100).hits} == wanted
    found = retrieve(alice.scope, narrowed, top_k=50)
    assert {str(hit.id) for hit in found.hits} == wanted
    assert found.considered == 10


def test_a_memory_that_is_as_near_must_match_too(alice, remember):
    wanted = remember(alice, "green tea", role="agent")
    remember(alice, "green tea")
    found = dense.search(alice.scope, asked("green tea", {"role": "agent"}), limit=5)
    assert [hit.memory_id for hit in found] == [wanted]


def test_a_long_memory_that_matches_crowds_out_no_other_that_matches(alice, remember):
    atlas = {"metadata": {"project": "atlas"}}
    long = remember(alice, ". ".join(["green tea"] * 3000), **atlas)
    embed_pending()
    short = {remember(alice, f"harbour bakery {number}", **atlas) for number in range(4)}
    remember(alice, "green tea")

    found = dense.search(alice.scope, asked("green tea", {"metadata.project": "atlas"}), limit=5)

    assert found[0].memory_id == long
    assert {hit.memory_id for hit in found[1:]} == short


def test_scores_by_words_keep_the_statistics_of_the_whole_namespace(alice, remember):
    wanted = remember(alice, "zebra lion", role="agent")
    for text in ("zebra", "zebra tiger", "bear"):
        remember(alice, text)
    whole = {hit.memory_id: hit.score for hit in lexical.search(alice.scope, asked("zebra"), limit=9).hits}
    (narrowed,) = lexical.search(alice.scope, asked("zebra", {"role": "agent"}), limit=9).hits
    assert (narrowed.memory_id, narrowed.score) == (wanted, pytest.approx(whole[wanted]))


def test_a_filter_reaches_no_other_namespace(alice, bob, remember):
    own = remember(alice, "green tea", metadata={"project": "atlas"})
    remember(bob, "green tea", metadata={"project": "atlas"})

    for data in ({"metadata.project": "atlas"}, {"or": [{"role": "user"}, {"not": {"role": "user"}}]}):
        narrowed = asked("green tea", data)
        assert [str(hit.id) for hit in retrieve(alice.scope, narrowed, top_k=50).hits] == [own]
        assert [hit.memory_id for hit in dense.search(alice.scope, narrowed, limit=5)] == [own]


@pytest.mark.parametrize(
    "hostile", ["x' OR true --", "') OR (1=1", "%(namespace_id)s", "%s", "{}", "{0}", "{narrowing}"]
)
def test_what_a_filter_says_is_data(alice, remember, hostile):
    remember(alice, "green tea", metadata={"project": "atlas"})
    wanted = remember(alice, "green tea", metadata={hostile: hostile}, speaker=hostile)
    key = hostile.replace(".", r"\.")

    for data in ({f"metadata.{key}": hostile}, {"speaker": hostile}, {"metadata.x": hostile}, {"session_id": hostile}):
        narrowed = asked("green tea", data)
        assert hostile not in narrowed.predicate.sql or hostile == "{}"
        found = {str(hit.id) for hit in retrieve(alice.scope, narrowed, top_k=50).hits}
        assert found == ({wanted} if "speaker" in data or f"metadata.{key}" in data else set())


def test_without_a_filter_there_is_no_predicate():
    assert predicate(parse({})) is None
