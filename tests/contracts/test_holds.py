"""No change of memories passes a legal hold by: whatever deletes rows or rewrites memories is known here.

The tree is read, not run: every function (or statement at a module's level) that deletes rows, or writes a column in
which a memory says something or is away, is either GUARDED, with the test that proves that a hold stops it, or
HARMLESS, with the reason why no memory goes or says something else by it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest
from django.contrib import admin
from django.test import RequestFactory

from memory.services.tenancy.holds import SAID
from tests.services.tenancy import test_holds

ROOT = Path(__file__).resolve().parents[2]
# Migrations move all rows of a table at once. The stores query Redis, which keeps no memory permanently.
LOOKED_AT = [
    path
    for folder in ("memory", "ops", "memos_site")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not {"migrations", "stores"} & set(path.relative_to(ROOT).parts)
]
SQL = re.compile(r"\b(DELETE\s+FROM|TRUNCATE\s+(TABLE|memory_)|UPDATE\s+memory_memory)\b")
COLUMNS = {*SAID, "state"}

WAYS = "test_a_held_memory_stays_and_says_what_it_says"
DOCUMENTS = "TestDocuments.test_a_writer_cannot_delete_or_replace_one_with_a_held_chunk"
ERASING = "test_a_hold_placed_in_the_middle_of_an_erasure_keeps_what_is_left"
SWEEPING = "test_a_hold_of_the_namespace_stops_a_sweep_that_has_read_the_policy"
QUARANTINE = "TestQuarantine.test_nothing_of_a_held_namespace_is_discarded_or_expires"
GUARDED = {
    "memory/services/memories/change.py:store_change": WAYS,
    "memory/services/memories/edit.py:put_away": WAYS,
    "memory/services/ingestion/documents.py:delete_document": DOCUMENTS,
    "memory/models/queries/index.py:_REMOVE": WAYS,
    "memory/models/queries/index.py:_REMOVE_CHUNKS": DOCUMENTS,
    "memory/models/queries/index.py:_REMOVE_MEMORIES": WAYS,
    "memory/models/queries/index.py:_REMOVE_SESSION": WAYS,
    "memory/services/ingestion/quarantine.py:_decide": QUARANTINE,
    "memory/services/ingestion/quarantine.py:delete_expired": QUARANTINE,
    "memory/services/sessions/reset.py:reset_session": WAYS,
    "memory/services/retention/sweep.py:_delete_evaluations": SWEEPING,
    "memory/services/retention/sweep.py:_delete_packs": SWEEPING,
}

ERASED = "what hangs on memories that the erasure deletes, in the transaction in which they are found free of holds"
DERIVED = "made of memories, and made again"
MARKED = "a link or a mark that words hold no longer; no text changes, and it can be undone"
ELSEWHERE = "no row of a tenant's memories"
ADAPTER = "the state of an adapter"
SENT = "bytes of a file that was dumped or sent; no memory is among them"
HARMLESS = {
    "memory/services/tenancy/empty_namespace.py:remove_if_empty": "a namespace in which nothing is",
    "memory/services/cube_files/requests.py:_delete_pieces": SENT,
    "memory/services/imports/requests.py:_delete_parts": SENT,
    "memory/services/imports/uploads.py:_delete": SENT,
    "memory/services/imports/uploads.py:store_part": SENT,
    "memory/providers/name_lists.py:write": ELSEWHERE,
    "memory/providers/use_v3/graph.py:build_files": ELSEWHERE,
    "memory/providers/use_v3/graph.py:_write_table": ELSEWHERE,
    "memory/schedules.py:ensure_schedules": ELSEWHERE,
    "memory/services/backup/contents.py:end_logins": ELSEWHERE,
    "memory/services/gateway/responses.py:delete_response": "a response in Redis; what is remembered of it stays",
    "memory/services/index/changes.py:forget": ELSEWHERE,
    "memory/services/index/changes.py:forget_all": ELSEWHERE,
    "memory/services/index/common_terms.py:count": DERIVED,
    "memory/services/index/insert.py:_WRITE_VECTORS": "marks memories that were just written as lacking a vector",
    "memory/services/memories/edit.py:_put_text": "in a change that `change.store_change` refuses and undoes",
    "memory/services/memories/edit.py:_restore_batch": "brings memories back",
    "memory/models/queries/index.py:_INSERT_MISSING": DERIVED,
    "memory/services/index/embedding_model.py:_first_model": ELSEWHERE,
    "memory/services/index/missing_vectors.py:reembed": ELSEWHERE,
    "memory/services/index/missing_vectors.py:prune_retired": DERIVED,
    "memory/models/queries/entities.py:_UNMENTIONED": DERIVED,
    "memory/models/queries/entities.py:_WITHOUT_NAME": DERIVED,
    "memory/services/entities/extract.py:_read_and_store": DERIVED,
    "memory/services/entities/extract.py:rebuild": DERIVED,
    "memory/services/entities/mentions.py:store": DERIVED,
    "memory/services/erasure/run.py:_try_again": "the state of an erasure",
    "memory/services/erasure/run.py:_clear_batch": "takes what is held out of the erasure",
    "memory/models/queries/erasure_holders.py:CLEAR_ASKED": ERASED,
    "memory/models/queries/erasure_holders.py:CLEAR_TRAINING_PARTS": ERASED,
    "memory/services/erasure/holders.py:_clear_judgements": ERASED,
    "memory/models/queries/erasure_holders.py:delete_rows_in_order": ERASED,
    "memory/models/queries/erasure_holders.py:delete_rows": ERASED,
    "memory/models/queries/erased_words.py:delete_rows": ERASED,
    "memory/services/ingestion/replies.py:put_away_replies": "asks which of the replies are held, and leaves them",
    "memory/models/queries/erasure.py:_DELETE_EMPTY": ERASED,
    "memory/models/queries/erasure.py:_DELETE_SUMMARIES": ERASED,
    "memory/services/erasure/sessions.py:rebuild": "the state of an erasure",
    "memory/services/erasure/sessions.py:settle": "the state of an erasure",
    "memory/services/tenancy/idempotency.py:forget_old": ELSEWHERE,
    "memory/models/queries/index.py:_DELETE_POSTINGS": DERIVED,
    "memory/models/queries/index.py:_CLEAR_POSTINGS": ERASED,
    "memory/services/index/erased.py:clear_vectors": ERASED,
    "memory/services/index/erased.py:sweep_postings": ERASED,
    "memory/services/index/erased.py:sweep_common_terms": ERASED,
    "memory/services/index/entries.py:forget_entities": DERIVED,
    "memory/services/index/entries.py:remove_session": DERIVED,
    "memory/services/index/entries.py:replace_vectors": DERIVED,
    "memory/services/jobs/runner.py:_begin": ELSEWHERE,
    "memory/services/jobs/runner.py:_end": ELSEWHERE,
    "memory/services/jobs/runner.py:give_up": ELSEWHERE,
    "memory/services/jobs/manage.py:discard": ELSEWHERE,
    "memory/services/jobs/manage.py:forget": ELSEWHERE,
    "memory/services/jobs/manage.py:replay": ELSEWHERE,
    "memory/services/memories/lifecycle.py:restore_one": "brings a memory back",
    "memory/services/projection/fit.py:_store": DERIVED,
    "memory/services/projection/fit.py:project": DERIVED,
    "memory/models/queries/retention.py:_RATED": "importance, which is no part of what a memory says",
    "memory/services/index/recount.py:recount": DERIVED,
    "memory/services/monitoring/request_stats.py:forget": ELSEWHERE,
    "memory/services/memories/give_back.py:give_back": MARKED,
    "memory/services/memories/reinstate.py:_agree": MARKED,
    "memory/services/memories/reinstate.py:retire_again": MARKED,
    "memory/services/memories/retire.py:give_back": MARKED,
    "memory/services/memories/retire.py:retire": MARKED,
    "memory/services/memories/review.py:_let_all_hold": MARKED,
    "memory/services/memories/judge.py:_due": "a question to a language model that is none any more",
    "memory/services/memories/judge.py:_keep_both": MARKED,
    "memory/services/memories/settle_preview.py:undo_since": MARKED,
    "memory/services/summaries/stale.py:_unmark": DERIVED,
    "memory/services/memories/supersede.py:end_memory": MARKED,
    "memory/services/usage/calls.py:forget": ELSEWHERE,
    "memory/services/backup/replay.py:_revoke_shares": ELSEWHERE,
    "memory/services/cubes/change.py:change_cube": ELSEWHERE,
    "memory/services/cubes/create.py:unregister_cube": "what a namespace is called, and with whom it is shared",
    "memory/services/cubes/share.py:revoke_share": ELSEWHERE,
    "memory/services/erasure/users.py:forget_user": "no memory: those go by erasures, which ask",
    "memory/services/tenancy/users.py:_link_namespaces": ELSEWHERE,
    "memory/services/tenancy/users.py:change_user": ELSEWHERE,
    "memory/services/webhooks/deliver.py:_keep": ELSEWHERE,
    "memory/services/webhooks/endpoints.py:change_webhook": ELSEWHERE,
    "memory/services/webhooks/endpoints.py:delete_webhook": ELSEWHERE,
    "memory/services/webhooks/log.py:forget": ELSEWHERE,
    "memory/services/ingestion/documents.py:_drop_originals": "files of chunks that were removed just before",
    "memory/services/ingestion/file_run.py:_end": "the bytes of a file that is read; its chunks are what is kept",
    "memory/services/ingestion/files.py:forget": ELSEWHERE,
    "memory/services/ingestion/files.py:reparse_document": "how a file stands; its document goes through put_document",
    "memory/services/imports/requests.py:end": "the row of the import, and its file",
    "memory/services/imports/requests.py:forget": ELSEWHERE,
    "memory/services/cube_files/requests.py:_delete": ELSEWHERE,
    "memory/services/cube_files/requests.py:end": "the row of a dump or load, and its file",
    "memory/services/cube_files/requests.py:forget": ELSEWHERE,
    "memory/services/cube_files/run.py:_begin": "the row of the load",
    "memory/services/cube_files/run.py:_begin_folder": "the row of the load",
    "memory/services/cube_files/run.py:_load_batch": "the row of the load; what it brings goes through the services",
    "memory/services/cube_files/run.py:_take_in_folder": "the row of the load; its turns go through ingest",
    "memory/services/imports/run.py:_write_down": "the row of the import; its turns go through ingest",
    "memory/services/memories/bulk.py:forget": ELSEWHERE,
    "memory/services/memories/bulk_run.py:carry_out": "the row of the change; its memories go through the services",
    "memory/services/activation/build.py:_write": DERIVED,
    "memory/services/activation/build.py:_undo": DERIVED,
    "memory/services/activation/build.py:_remove": DERIVED,
    "memory/services/activation/caches.py:mark_stale": DERIVED,
    "memory/services/activation/caches.py:remove": DERIVED,
    "memory/services/activation/engines.py:_check_folder": "a file that was written empty, to see where it lies",
    "memory/services/activation/engines.py:write": "a file that holds another's prompt",
    "memory/services/activation/erased.py:forget_folder": DERIVED,
    "memory/services/activation/upkeep.py:_delete_unknown": "files that no row names",
    "memory/services/training/datasets.py:drop_dataset": "copies of texts in a data set; the memories stay",
    "memory/services/training/follow.py:forget": "copies of texts in a data set; the memories stay",
    "memory/services/training/follow.py:_end": ADAPTER,
    "memory/services/training/serving.py:_mark_active": ADAPTER,
    "memory/services/training/serving.py:retire": ADAPTER,
    "memory/services/training/train.py:_refuse": ADAPTER,
    "memory/services/training/train.py:_register": ADAPTER,
    "memory/services/webhooks/log.py:replay_delivery": ELSEWHERE,
    "memory/services/webhooks/log.py:replay_failed": ELSEWHERE,
    "memory/services/usage/budgets.py:give_back": ELSEWHERE,
    "memory/services/usage/budgets.py:forget_expired": ELSEWHERE,
    "memory/services/memories/follow_sources.py:_bring_back": MARKED,
    "ops/admin/saved_views.py:drop_view": ELSEWHERE,
    "ops/bulk.py:ask_to_undo": ELSEWHERE,
    "ops/bulk.py:carry_out": ELSEWHERE,
    "ops/bulk.py:start": ELSEWHERE,
    "ops/bulk.py:undo": ELSEWHERE,
    "ops/logins.py:end_logins": ELSEWHERE,
    "ops/second_factor.py:begin": ELSEWHERE,
    "ops/second_factor.py:confirm": ELSEWHERE,
    "ops/second_factor.py:remove": ELSEWHERE,
    "ops/second_factor.py:renew_backup_codes": ELSEWHERE,
}


def list_changes(path: Path) -> Iterator[str]:
    """List `file:function` (or the name under which a statement is kept) of every place that deletes or rewrites."""
    place = path.relative_to(ROOT).as_posix()
    for name, node in _named(ast.parse(path.read_text()), ""):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if SQL.search(node.value):
                yield f"{place}:{name}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _writes(node, node.func.attr):
            yield f"{place}:{name}"


def _named(parent: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(parent):
        if _is_docstring(parent, node):
            continue
        own = name
        if not own and isinstance(node, ast.FunctionDef):
            own = node.name
        elif not own and isinstance(node, ast.Assign | ast.AnnAssign):
            own = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        yield own, node
        yield from _named(node, own)


def _is_docstring(parent: ast.AST, node: ast.AST) -> bool:
    documented = isinstance(parent, ast.Module | ast.ClassDef | ast.FunctionDef)
    return documented and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _writes(call: ast.Call, verb: str) -> bool:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if verb == "delete":
        return True
    if verb == "update":
        return not COLUMNS.isdisjoint(name for name in named if name)
    if verb == "bulk_update":
        return _may_name(call.args[1])
    # Saving a new row (`force_insert`) replaces none.
    return verb == "save" and "force_insert" not in named and _may_name(named.get("update_fields"))


def _may_name(columns: ast.expr | None) -> bool:
    """Return whether a list of columns may name one of COLUMNS. A list that is missing or built elsewhere may."""
    if not isinstance(columns, ast.List) or not all(isinstance(one, ast.Constant) for one in columns.elts):
        return True
    return not COLUMNS.isdisjoint(ast.literal_eval(columns))


def test_every_deed_that_deletes_or_rewrites_is_known_to_the_guard():
    found = {change for path in LOOKED_AT for change in list_changes(path)}

    assert not GUARDED.keys() & HARMLESS.keys()
    assert found == {*GUARDED, *HARMLESS}, (
        "Have it ask memory.services.tenancy.holds, prove it in tests/services/tenancy/test_holds.py and name it in "
        "GUARDED; or name it in HARMLESS, with the reason."
    )
    assert all(HARMLESS.values())


@pytest.mark.parametrize("proof", sorted(set(GUARDED.values())))
def test_every_guard_is_proved(proof):
    assert callable(reduce(getattr, proof.split("."), test_holds))


def test_the_admin_deletes_no_row_of_a_tenant(admin_user):
    request = RequestFactory().get("/admin/")
    request.user = admin_user
    deletable = {
        model._meta.label
        for model, page in admin.site._registry.items()
        if model._meta.app_label == "memory" and page.has_delete_permission(request)
    }

    # Procedures are registered by operators and hold no memory text; files hold copies of memories and are finished.
    assert deletable == {"memory.CubeFile", "memory.Procedure"}
