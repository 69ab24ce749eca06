"""`/ops/inspector/` shows exactly what agents were given, and what the same question would get today."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from memory.errors import MemosError
from memory.models import ContextPack
from memory.services.ingestion.ingest import ingest
from memory.services.recall import probe as probing
from memory.services.recall import replay
from memory.services.recall.probe import ProbeSetting
from memory.services.recall.query import query
from memory.types import Scope
from ops.access import page_access, reads_text, request_id, staff_access, staff_actor
from ops.navigation import keep_query
from ops.pages import inspector as page
from ops.pages.probe_forms import STORE, TryForm
from ops.pages.snippets import Snippets, snippets
from ops.views.page import console_action, console_page, forbidden
from ops.views.radar import RUN_PROBE, UNAVAILABLE, get_kept_probe, may_quote


@console_page
def inspector(request: HttpRequest) -> HttpResponse:
    """List the packs, and show the try-it box."""
    return _list(request, TryForm(request, initial={"namespace": request.GET.get("ns", "")}))


@console_action(permission=RUN_PROBE)
def ask(request: HttpRequest) -> HttpResponse:
    """Keep a question of the try-it box, store it if requested, and go to the pack that it would get."""
    if request.POST.get("store") and not request.user.has_perm(STORE):
        return forbidden(request, STORE)
    form = TryForm(request, data=request.POST)
    if not form.is_valid():
        return _list(request, form, status=422)
    given = form.cleaned_data
    try:
        probe = probing.keep(
            form.scope(),
            text=given["text"],
            settings=[form.setting()],
            session=given["session"],
            max_tokens=given["max_tokens"],
            now=timezone.now(),
        )
        turn = form.turn()
        ingested = ingest(form.scope(), memory=turn, now=timezone.now()) if turn else None
    except MemosError as error:
        return _list(request, form, problem=error.message, status=UNAVAILABLE)
    query = QueryDict(keep_query(request).removeprefix("?"), mutable=True)
    if ingested is not None:
        if identity := ingested.outcomes[0].memory_id:
            query["stored"] = str(identity)
        else:
            messages.warning(request, page.explain_refusal(ingested.outcomes[0]))
    url = reverse("ops:inspector_try", args=[probe.id])
    return HttpResponseRedirect(f"{url}?{query.urlencode()}" if query else url, status=303)


@console_page(permission=RUN_PROBE)
def inspector_try(request: HttpRequest, probe_id: str) -> HttpResponse:
    """Show the pack that a question would get now. This stores nothing except an audit event.

    `?stored=` is the id of what the question was stored as; the page shows its present state.
    """
    now = timezone.now()
    try:
        probe = get_kept_probe(request, probe_id)
        setting = probe.settings[0]
        answer = query(
            probe.scope, setting.ask(probe.text, now=now), session=probe.session, max_tokens=probe.max_tokens
        )
    except MemosError as error:
        return _list(request, TryForm(request), problem=error.message, status=UNAVAILABLE)
    answers = [(setting, answer.retrieval)]
    probing.record(probe.scope, text=probe.text, about={"page": "inspector"}, answers=answers, now=now)
    sources = replay.card_sources(probe.scope, answer.pack["working_memory"]["session_summary_id"])
    quote = may_quote(request, probe)
    body = {**_body(probe.scope, probe.session, probe.text, setting, probe.max_tokens), "dry_run": True}
    code = _snippets(request, body) if quote else None
    stored = page.became(probe.scope, request.GET.get("stored", ""), user=request.user)
    reset = page.reset_link(probe.scope, probe.session, user=request.user)
    pack = page.build_pack_of_answer(answer, sources)
    return _detail(request, pack=pack, probe=probe, quote=quote, snippets=code, stored=stored, reset_link=reset)


@console_page
def inspector_pack(request: HttpRequest, pack_id: uuid.UUID) -> HttpResponse:
    """Show a stored pack. Opening it is audited for users who may read its text."""
    row, scope = _row(request, pack_id)
    reads = reads_text(request)
    if reads:
        replay.record_read(scope, row, now=timezone.now())
    shown = page.build_pack_of_row(row, replay.card_sources(scope, row.session_summary_id))
    terms = replay.terms_of(scope, row)
    setting = ProbeSetting(top_k=terms.top_k, as_of=terms.as_of, valid_at=terms.valid_at)
    body = _body(scope, row.session, row.query_text, setting, terms.max_tokens)
    code = _snippets(request, {**body, "dry_run": True}) if reads else None
    reset = page.reset_link(scope, row.session, user=request.user)
    return _detail(request, pack=shown, row=row, terms=terms, quote=reads, snippets=code, reset_link=reset)


@console_page(permission=RUN_PROBE)
def inspector_replay(request: HttpRequest, pack_id: uuid.UUID) -> HttpResponse:
    """Compare the present results of the pack's question with those in the pack."""
    row, scope = _row(request, pack_id)
    now, then = timezone.now(), request.GET.get("as_of") == "then"
    context: dict[str, Any] = {"row": row, "then": then, "quote": reads_text(request)}
    try:
        replayed = replay.replay(scope, row, as_of_then=then, now=now)
    except MemosError as error:
        return _detail(request, "ops/inspector/replay.html", problem=error.message, status=UNAVAILABLE, **context)
    setting = ProbeSetting(as_of=replayed.terms.as_of, valid_at=replayed.terms.valid_at)
    about = {"page": "replay", "context_pack_id": str(row.pk)}
    answers = [(setting, replayed.answer.retrieval)]
    probing.record(scope, text=row.query_text, about=about, answers=answers, now=now)
    moved = page.differences(row, replayed, probing.sources(scope, page.list_compared_ids(row, replayed)))
    kinds = {kind: sum(one.kind == kind for one in moved) for kind in ("came", "went", "up", "down", "same")}
    context |= {"moved": moved, "kinds": kinds, "terms": replayed.terms}
    summary_id = replayed.answer.pack["working_memory"]["session_summary_id"]
    before = page.build_pack_of_row(row, {})
    after = page.build_pack_of_answer(replayed.answer, replay.card_sources(scope, summary_id))
    return _detail(request, "ops/inspector/replay.html", before=before, pack=after, **context)


@console_action(permission=RUN_PROBE)
def open_in_radar(request: HttpRequest, pack_id: uuid.UUID) -> HttpResponse:
    """Open a pack's question in the radar."""
    row, scope = _row(request, pack_id)
    terms = replay.terms_of(scope, row)
    setting = ProbeSetting(top_k=terms.top_k, as_of=terms.as_of, valid_at=terms.valid_at)
    try:
        # The agent counts as the asker, so that the radar masks the question for users who may not read texts.
        asked = Scope(scope.namespace_id, scope.namespace, f"pack:{row.pk}", scope.request_id)
        probe = probing.keep(asked, text=row.query_text, settings=[setting], now=timezone.now())
    except MemosError as error:
        return _list(request, TryForm(request), problem=error.message, status=UNAVAILABLE)
    return HttpResponseRedirect(reverse("ops:radar_probe", args=[probe.id]) + keep_query(request), status=303)


def _row(request: HttpRequest, pack_id: uuid.UUID) -> tuple[ContextPack, Scope]:
    """Return the pack and the scope of its namespace. Raises Http404 for one out of reach."""
    rows = ContextPack.objects.reachable_by(staff_access(request)).select_related("namespace")
    row = rows.filter(pk=pack_id).first()
    if row is None:
        raise Http404("There is no such context pack.")
    return row, Scope(row.namespace_id, row.namespace.name, staff_actor(request), request_id(request))


def _body(scope: Scope, session: str, text: str, setting: ProbeSetting, max_tokens: int | None) -> dict[str, Any]:
    return {
        "namespace": scope.namespace,
        "session_id": session,
        "query": text,
        "top_k": setting.top_k,
        "as_of": setting.as_of.isoformat() if setting.as_of else None,
        "valid_at": setting.valid_at.isoformat() if setting.valid_at else None,
        "max_tokens": max_tokens,
    }


def _snippets(request: HttpRequest, body: dict[str, Any]) -> Snippets:
    return snippets(request.build_absolute_uri("/").rstrip("/"), "/v1/query", body)


def _list(request: HttpRequest, form: TryForm, *, status: int = 200, **context: Any) -> HttpResponse:
    session = request.GET.get("session", "")
    rows = ContextPack.objects.reachable_by(page_access(request))
    example = {"namespace": request.GET.get("ns") or "demo", "session_id": session or "first", "query": "…"}
    shown = {
        "example": _snippets(request, example).curl,
        "list": page.list_packs(rows, session=session, cursor=request.GET.get("cursor", "")),
        "session": session, "form": form, "reads": reads_text(request),
        "may_probe": request.user.has_perm(RUN_PROBE), **context,
    }  # fmt: skip
    return render(request, "ops/inspector.html", shown, status=status)


def _detail(
    request: HttpRequest, template: str = "ops/inspector/pack.html", *, status: int = 200, **context: Any
) -> HttpResponse:
    shown = {
        "reads": reads_text(request), "may_probe": request.user.has_perm(RUN_PROBE),
        "may_open": request.user.has_perm("memory.view_memory"), **context,
    }  # fmt: skip
    return render(request, template, shown, status=status)
