from __future__ import annotations

from io import StringIO
from pathlib import Path

import orjson
import pytest
from django.core.management import CommandError, call_command

from memory.models import Memory, Namespace

pytestmark = pytest.mark.django_db

LOCOMO = {
    "sample_id": "made-up-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2025",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "The kiln is fixed."},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Then we fire on Friday."},
        ],
    },
}


def run(*arguments: object) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_transcript", *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def written(folder: Path, name: str, *entries: object) -> Path:
    path = folder / name
    path.write_bytes(b"\n".join(entry if isinstance(entry, bytes) else orjson.dumps(entry) for entry in entries))
    return path


def test_locomo_goes_to_a_namespace_of_its_own_and_only_once(tmp_path: Path) -> None:
    file = written(tmp_path, "set.json", [LOCOMO, {**LOCOMO, "sample_id": "made-up-2"}])
    out, _ = run(file)
    assert "locomo-made-up-1: 2 turns in 1 session (2 new, 0 there already)" in out
    assert 'manage.py ask locomo-made-up-2 "…"' in out
    out, _ = run(file)
    assert "(0 new, 2 there already)" in out
    assert Memory.objects.across_namespaces().count() == 4


def test_several_conversations_stay_apart_in_a_namespace_that_is_named(tmp_path: Path) -> None:
    run(written(tmp_path, "set.json", [LOCOMO, {**LOCOMO, "sample_id": 2}]), "--namespace", "mine")
    assert set(Namespace.objects.values_list("name", flat=True)) == {"mine-made-up-1", "mine-2"}


def test_json_lines_go_where_they_say_or_where_the_file_is_named(tmp_path: Path) -> None:
    run(written(tmp_path, "diary.jsonl", {"text": "kiln"}, {"text": "glaze", "session_id": "s"}))
    rows = Memory.objects.filter(namespace__name="diary").order_by("pk")
    assert list(rows.values_list("session", "text")) == [("diary", "kiln"), ("s", "glaze")]
    run(written(tmp_path, "more.jsonl", {"text": "bowl"}), "--namespace", "diary", "--session", "evening")
    assert list(rows.values_list("session", "text"))[-1] == ("evening", "bowl")


def test_a_bad_line_stops_everything_and_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "diary.jsonl", {"text": "a"}, b"{oops", {"text": ""})
    with pytest.raises(CommandError) as refused:
        run(file)
    message = str(refused.value)
    assert f"{file}: line 2: is not valid JSON" in message
    assert f"{file}: line 3: the text is empty" in message
    assert "--skip-bad" in message
    assert not Memory.objects.across_namespaces().exists()
    assert not Namespace.objects.exists()


def test_bad_lines_can_be_left_out_and_are_counted(tmp_path: Path) -> None:
    out, err = run(written(tmp_path, "diary.jsonl", {"text": "kiln"}, b"{oops", {"text": "glaze"}), "--skip-bad")
    assert "2 turns in 1 session (2 new" in out
    assert "Left out, 1 turn that" in err
    assert "line 2" in err
    assert list(Memory.objects.across_namespaces().order_by("pk").values_list("text", flat=True)) == ["kiln", "glaze"]


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        run(tmp_path / "absent.jsonl")
    with pytest.raises(CommandError, match="holds no turns"):
        run(written(tmp_path, "empty.jsonl"))
    with pytest.raises(CommandError, match="names its own sessions"):
        run(written(tmp_path, "set.json", LOCOMO), "--session", "s")
    with pytest.raises(CommandError, match="a name has 1 to 128 characters"):
        run(written(tmp_path, "set.json", LOCOMO), "--namespace", "n" * 129)
    with pytest.raises(CommandError, match="more than 128 characters"):
        run(written(tmp_path, "set.json", [LOCOMO, {**LOCOMO, "sample_id": 2}]), "--namespace", "n" * 125)
    assert not Namespace.objects.exists()


def test_a_conversation_that_is_refused_leaves_no_namespace_and_the_others_stay(tmp_path: Path) -> None:
    """The gate refuses the session's name."""
    Namespace.objects.create(name="there")
    refused = written(tmp_path, "diary.jsonl", {"text": "kiln", "session_id": "AKIA" + "QZ7RT4WXYB2MNC5D"})
    for namespace in ("fresh", "there"):
        with pytest.raises(CommandError, match="session_id"):
            run(refused, "--namespace", namespace)
    assert list(Namespace.objects.values_list("name", flat=True)) == ["there"]

    second = {**LOCOMO, "sample_id": "made-up-2", "conversation": {**LOCOMO["conversation"]}}
    run(written(tmp_path, "set.json", [LOCOMO, second]))
    assert set(Namespace.objects.values_list("name", flat=True)) == {"locomo-made-up-1", "locomo-made-up-2", "there"}
