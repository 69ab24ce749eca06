"""`/ops/tree/` shows the sessions of a namespace, their topics, and the memories of one."""

from __future__ import annotations

import uuid
from datetime import datetime
from functools import partial

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.enums import TopicLevel
from memory.errors import MemosError, NotFound
from memory.models import Memory
from memory.services.memories.view_log import note_viewed
from memory.services.tree import browse, grow
from memory.types import Scope
from ops.access import permission_title, reads_text, request_id, staff_access
from ops.one_namespace import choices, find_chosen_scope, scope_of
from ops.pages import tree as page
from ops.views.page import back, console_action, console_page

CHANGE = "memory.change_topicnode"
READ_TEXT = "ops.view_memory_text"
SESSIONS = 20
TOPICS = 50
MEMORIES = 50


@console_page
def tree(request: HttpRequest) -> HttpResponse:
    """List the sessions of the chosen namespace with their first topics."""
    scope = scope_of(request)
    if scope is None:
        return render(request, "ops/tree.html", {"choices": choices(request)})
    now = timezone.now()
    nodes, following = browse.list_nodes(scope, cursor=_cursor(request), limit=SESSIONS, now=now)
    below = browse.list_children(scope, nodes, now=now)
    shown = partial(page.branch_shown, user=request.user, readable=reads_text(request))
    context = {
        "scope": scope,
        "state": browse.read_state(scope),
        "rows": [shown(node, below[node.id][0]) for node in nodes],
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "may_change": request.user.has_perm(CHANGE),
        **_reading(request),
    }
    return render(request, "ops/tree.html", context)


@console_page
def tree_node(request: HttpRequest, node_id: uuid.UUID) -> HttpResponse:
    """Show a session or topic: its summary, the topics below it, and its memories."""
    scope, now = find_chosen_scope(request), timezone.now()
    try:
        node, above = browse.find_node(scope, node_id=node_id, now=now)
    except NotFound:
        raise Http404(_("There is no such node in the tree.")) from None
    topics, more_topics = _list_topics(request, scope, node, now=now)
    ids, following = browse.list_memory_ids(scope, node=node, cursor=_cursor(request), limit=MEMORIES, now=now)
    if reads_text(request):
        _note_viewed(request, scope, node)
    shown = partial(page.branch_shown, user=request.user, readable=reads_text(request))
    memories = Memory.objects.in_scope(scope).filter(pk__in=ids).order_by("pk")
    context = {
        "scope": scope,
        "node": shown(node, topics),
        "above": [shown(one) for one in above],
        "memories": page.memories_shown(list(memories), user=request.user),
        "following": str(following or ""),
        "is_first": not request.GET.get("cursor"),
        "more_topics": str(more_topics or ""),
        **_reading(request),
    }
    return render(request, "ops/tree_node.html", context)


@console_action(permission=CHANGE)
def tree_rebuild(request: HttpRequest) -> HttpResponse:
    """Have the tree of the chosen namespace rebuilt."""
    try:
        grow.rebuild(find_chosen_scope(request), now=timezone.now())
    except MemosError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The tree is made anew in the background."))
    return back(request, "ops:tree")


def _list_topics(
    request: HttpRequest, scope: Scope, node: browse.NodeShown, *, now: datetime
) -> tuple[list[browse.NodeShown], uuid.UUID | None]:
    if node.level == TopicLevel.TOPIC:
        return [], None
    return browse.list_nodes(scope, parent=node.id, cursor=_cursor(request, "topic"), limit=TOPICS, now=now)


def _reading(request: HttpRequest) -> dict[str, object]:
    return {"readable": reads_text(request), "permission": permission_title(READ_TEXT)}


def _note_viewed(request: HttpRequest, scope: Scope, node: browse.NodeShown) -> None:
    note_viewed(
        staff_access(request),
        what="topic",
        namespace_id=scope.namespace_id,
        subject=node.id,
        session=node.session,
        now=timezone.now(),
        request_id=request_id(request),
    )


def _cursor(request: HttpRequest, name: str = "cursor") -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get(name, ""))
    except ValueError:
        return None
