"""Searches memories for staff: by words through the postings, by meaning, by id, by session, by speaker."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db.models import F, Func, IntegerField, QuerySet, UUIDField, Value
from django.utils.translation import gettext as _

from memory.errors import MemosError
from memory.models import Namespace, Session
from memory.models.queries.index import list_with_all_terms
from memory.services.index.neighbours import MAX_NAMESPACES, near_text
from memory.text.analysis import terms_of_question
from memory.types import Access, Scope
from ops.admin.filters import find_namespaces

CAP = 10_000
MAX_TERMS = 32
MAX_SESSIONS = 1000
# Prefix of a search by meaning, and its number of results.
MEANING = "~"
NEAREST = 200


@dataclass(frozen=True, slots=True)
class NarrowedRows:
    """The narrowed rows, and a note about them for staff."""

    rows: QuerySet
    note: str = ""


@dataclass(frozen=True, slots=True)
class Asking:
    """The user and context of a search.

    `namespace` is the name, or its beginning, by which the list is filtered; "" stands for all. `archived`: the list is
    of archived memories. `by_text`: the user may search by text.
    """

    access: Access
    namespace: str
    archived: bool
    by_text: bool
    now: datetime

    def namespace_ids(self) -> list[int] | None:
        """Return the namespaces to search, or None for all."""
        named = find_namespaces(self.namespace, self.access)
        if named is None and not self.access.all_namespaces:
            return sorted(self.access.namespace_ids)
        return named


def search(rows: QuerySet, text: str, asking: Asking) -> NarrowedRows:
    """Find memories of `rows` that have all words of `text` (newest CAP), or by id, `session:NAME` or `speaker:NAME`.

    After `~` the search is by meaning, nearest first. The postings hold searchable memories only; in a list of archived
    ones the stored terms of the rows are read instead.
    """
    text = text.strip().replace("\0", "")
    try:
        return NarrowedRows(rows.filter(pk=uuid.UUID(text)))
    except ValueError:
        pass
    namespace_ids = asking.namespace_ids()
    prefix, _colon, rest = text.partition(":")
    if prefix == "session" and rest:
        return NarrowedRows(_in_session(rows, rest.strip(), namespace_ids))
    speaker = rest.strip() if prefix == "speaker" and rest else ""
    if not asking.by_text:
        return NarrowedRows(rows.none(), _("Searching by what memories say needs the permission to read it."))
    if text.startswith(MEANING):
        return _by_meaning(rows, text.removeprefix(MEANING).strip(), asking, namespace_ids)
    wanted = list(dict.fromkeys(terms_of_question(speaker or text)))[:MAX_TERMS]
    if speaker:
        rows = rows.filter(speaker=speaker)
    if not wanted:
        return NarrowedRows(
            rows.none(), _("There is no word in it to search for: very common words are not in the index.")
        )
    if asking.archived:
        return NarrowedRows(rows.filter(terms__contains=wanted))
    ids = with_all_terms(wanted, namespace_ids=namespace_ids)
    if len(ids) > CAP:
        found = rows.filter(pk__in=ids)
        many = _("More than %(most)s memories match: these are among the newest %(most)s.")
        return NarrowedRows(found, many % {"most": f"{CAP:,}"})
    note = "" if ids else _("Nothing matches. Archived memories are searched when the list is filtered by that state.")
    return NarrowedRows(rows.filter(pk__in=ids), note)


def _by_meaning(rows: QuerySet, text: str, asking: Asking, namespace_ids: list[int] | None) -> NarrowedRows:
    if not text:
        return NarrowedRows(rows.none(), _("Say after ~ what they should mean."))
    names = Namespace.objects.order_by("pk")
    if namespace_ids is not None:
        names = names.filter(pk__in=namespace_ids)
    found = list(names.values_list("pk", "name")[: MAX_NAMESPACES + 1])
    if len(found) > MAX_NAMESPACES:
        return NarrowedRows(
            rows.none(),
            _("A search by meaning looks through up to %(most)s namespaces: filter the list by one first.")
            % {"most": MAX_NAMESPACES},
        )
    scopes = [Scope(pk, name, asking.access.actor) for pk, name in found]
    try:
        ids = near_text(scopes, text=text, limit=NEAREST, now=asking.now)
    except MemosError as error:
        return NarrowedRows(rows.none(), error.message)
    place = Func(
        Value(ids, output_field=ArrayField(UUIDField())),
        F("pk"),
        function="array_position",
        output_field=IntegerField(),
    )
    return NarrowedRows(
        rows.filter(pk__in=ids).order_by(place),
        _("The %(count)s nearest in meaning, nearest first.") % {"count": len(ids)},
    )


def with_all_terms(wanted: Sequence[str], *, namespace_ids: list[int] | None) -> list[uuid.UUID]:
    """Return the searchable memories with every term, newest first: CAP of them, and one more if there are more."""
    if namespace_ids is None:
        namespace_ids = list(Namespace.objects.order_by().values_list("pk", flat=True))
    return list_with_all_terms(namespace_ids, wanted, limit=CAP + 1)


def _in_session(rows: QuerySet, name: str, namespace_ids: list[int] | None) -> QuerySet:
    if namespace_ids is None:
        sessions = Session.objects.across_namespaces()
    else:
        sessions = Session.objects.filter(namespace_id__in=namespace_ids)
    holding = list(sessions.filter(name=name).values_list("namespace_id", flat=True)[:MAX_SESSIONS])
    return rows.filter(namespace_id__in=holding, session=name)
