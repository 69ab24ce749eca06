"""Shows a memory's details next to its text: vectors, versions, links, uses, and the parts of its importance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.enums import PairVerdict
from memory.governance.importance import Learned
from memory.kinds import PREFERENCE_KEY
from memory.models import (
    Condensation,
    Memory,
    MemoryFeedback,
    MemoryLink,
    MemoryUpkeep,
    MemoryVector,
    MemoryVersion,
    RelevanceJudgement,
    UnsurePair,
)
from memory.services.preferences.profile import find_source
from memory.services.retention.importance import rate_by_policy
from ops.access import MASK
from ops.admin.rendering import memory_link, moment
from ops.admin.scope import render_mask_box
from ops.differences import difference
from ops.pages.users import ATTITUDES, SHOWN_BY

SHOWN = 20
SUMMARIES = 50


class MemoryPage:
    """Computes the read-only parts of a memory's page."""

    @admin.display(description=gettext_lazy("text"))
    def hidden_text(self, memory: Memory) -> SafeString:
        return render_mask_box(len(memory.text))

    @admin.display(description=gettext_lazy("vectors"))
    def vectors(self, memory: Memory) -> SafeString | str:
        rows = MemoryVector.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).select_related(
            "model"
        )
        passages = Counter((str(row.model), row.searchable) for row in rows.defer("embedding"))
        lines = [
            (
                model,
                _("searchable") if searchable else _("not searchable"),
                ngettext("%(count)s passage", "%(count)s passages", count) % {"count": count},
            )
            for (model, searchable), count in passages.items()
        ]
        return format_html_join("", "<div>{}: {}, {}</div>", lines) or _("none yet: the worker makes it")

    @admin.display(description=gettext_lazy("newest first"))
    def former_versions(self, memory: Memory) -> SafeString | str:
        rows = list(MemoryVersion.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)[:SHOWN])
        if not rows:
            return _("none: it was never changed")
        # The text that replaced each version is that of the following version, or the present text.
        into = [memory.text, *(row.text for row in rows[:-1])]
        lines = [
            (
                moment(row.replaced_at),
                row.actor,
                row.reason,
                row.text,
                _("What became of it"),
                difference(row.text, new),
            )
            for row, new in zip(rows, into, strict=True)
        ]
        line = (
            "<tr><td>{}</td><td>{}</td><td>{}</td>"
            "<td><pre>{}</pre><details><summary>{}</summary><pre>{}</pre></details></td></tr>"
        )
        headings = (_("Replaced"), _("By"), _("Why"), _("Former text"))
        return _table(headings, format_html_join("", line, lines))

    @admin.display(description=gettext_lazy("newest first"))
    def hidden_versions(self, memory: Memory) -> SafeString | str:
        rows = MemoryVersion.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).defer("text")[:SHOWN]
        lines = [(moment(row.replaced_at), row.actor) for row in rows]
        if not lines:
            return _("none: it was never changed")
        return _table((_("Replaced"), _("By")), format_html_join("", "<tr><td>{}</td><td>{}</td></tr>", lines))

    @admin.display(description=gettext_lazy("speaker"))
    def hidden_speaker(self, memory: Memory) -> str:
        return MASK if memory.speaker else "—"

    @admin.display(description=gettext_lazy("links"))
    def links(self, memory: Memory) -> SafeString | str:
        return self._links(memory, readable=True)

    @admin.display(description=gettext_lazy("links"))
    def hidden_links(self, memory: Memory) -> SafeString | str:
        return self._links(memory, readable=False)

    def _links(self, memory: Memory, *, readable: bool) -> SafeString | str:
        rows = MemoryLink.objects.filter(
            Q(memory_id=memory.pk) | Q(other_id=memory.pk), namespace_id=memory.namespace_id
        )
        words = {
            ("supersedes", True): _("supersedes"), ("supersedes", False): _("is superseded by"),
            ("restates", True): _("restates"), ("restates", False): _("is restated by"),
            ("contradicts", True): _("contradicts"), ("contradicts", False): _("is contradicted by"),
            ("both_hold", True): _("holds beside"), ("both_hold", False): _("holds beside"),
            ("derived_from", True): _("rests on"), ("derived_from", False): _("bears"),
        }  # fmt: skip
        lines = _list_judged_to_hold(memory, readable=readable)
        for row in rows[:SHOWN]:
            own = row.memory_id == memory.pk
            other = str(row.other_id if own else row.memory_id)
            kind = words.get((row.kind, own), row.kind)
            lines.append(
                (
                    kind,
                    memory_link(other, f"…{other[-12:]}"),
                    row.reason if readable else MASK,
                    row.actor,
                    moment(row.created_at),
                )
            )
        if not lines:
            return _("none")
        return _table(
            (_("It"), _("Memory"), _("Why"), _("By"), _("When")),
            format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", lines),
        )

    @admin.display(description=gettext_lazy("preference"))
    def preference_shown(self, memory: Memory) -> str:
        """Show the kind of a preference, and whether its holder states it or their choices show it."""
        said = memory.metadata.get(PREFERENCE_KEY)
        said = said if isinstance(said, dict) else {}
        attitude = ATTITUDES.get(str(said.get("attitude")))
        source = SHOWN_BY[find_source(said)]
        return f"{attitude[0]} · {source}" if attitude else str(source)

    @admin.display(description=gettext_lazy("quoted by summaries"))
    def summaries(self, memory: Memory) -> SafeString | str:
        """Show the versions of its session's summary that were made from it, among the newest SUMMARIES."""
        recent = Condensation.objects.filter(namespace_id=memory.namespace_id, session=memory.session).order_by("-id")
        newest = recent.values_list("pk", flat=True)[:SUMMARIES]
        rows = recent.filter(pk__in=list(newest), source_memory_ids__contains=[memory.pk])
        found = rows.values_list("pk", "number", "created_at")[:SHOWN]
        lines = [(f"/admin/memory/condensation/{pk}/change/", f"#{number}", moment(at)) for pk, number, at in found]
        return format_html_join("", '<div><a href="{}">{}</a> {}</div>', lines) or _("none")

    @admin.display(description=gettext_lazy("feedback"))
    def opinions(self, memory: Memory) -> SafeString | str:
        return self._opinions(memory, readable=True)

    @admin.display(description=gettext_lazy("feedback"))
    def hidden_opinions(self, memory: Memory) -> SafeString | str:
        return self._opinions(memory, readable=False)

    def _opinions(self, memory: Memory, *, readable: bool) -> SafeString | str:
        rows = MemoryFeedback.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)
        lines = [
            (row.get_kind_display(), row.actor, row.note if readable or not row.note else MASK, moment(row.created_at))
            for row in rows[:SHOWN]
        ]
        return format_html_join("", "<div>{} — {} {} {}</div>", lines) or _("none")

    @admin.display(description=gettext_lazy("uses"))
    def uses(self, memory: Memory) -> SafeString | str:
        row = _upkeep(memory)
        if row is None or not row.uses:
            return _("never handed to an agent")
        last = moment(row.last_used_at) if row.last_used_at else "—"
        return format_html(_("{} packs carried it, the last {}"), f"{row.uses:,}", last)

    @admin.display(description=gettext_lazy("why its importance"))
    def importance_parts(self, memory: Memory) -> SafeString:
        """Show the parts that sum to the importance, computed now; a value that a person set is labelled as such."""
        row = _upkeep(memory)
        marks = Counter(
            RelevanceJudgement.objects.filter(
                namespace_id=memory.namespace_id, memory_id=memory.pk
            ).values_list("relevant", flat=True)
        )  # fmt: skip
        learned = Learned(row.repeats if row else 1, marks[True], marks[False], row.uses if row else 0)
        found = rate_by_policy(memory, learned)
        parts: Iterable[tuple[str, str]] = ((name, f"{share:+.3f}") for name, share in found.shares.items() if share)
        differs = abs(found.value - memory.importance) > 0.0005
        note = _("It differs from the stored value: a person set that, or the sweep has not computed it anew yet.")
        return format_html(
            '<dl class="mos-parts">{}<div><dt>{}</dt><dd>{}</dd></div></dl>{}',
            format_html_join("", "<div><dt>{}</dt><dd>{}</dd></div>", parts),
            _("sum"),
            f"{found.value:.3f}",
            format_html('<p class="mos-quiet">{}</p>', note) if differs else "",
        )


def _list_judged_to_hold(memory: Memory, *, readable: bool) -> list[tuple[Any, ...]]:
    """List a line of the links for each memory that holds together with this one, as judged by a language model."""
    rows = UnsurePair.objects.filter(
        Q(newer_id=memory.pk) | Q(older_id=memory.pk),
        namespace_id=memory.namespace_id,
        verdict=PairVerdict.BOTH_HOLD,
    )
    lines = []
    for row in rows[:SHOWN]:
        other = str(row.older_id if row.newer_id == memory.pk else row.newer_id)
        why = f"{_('A language model judged:')} “{row.explanation}”" if readable else MASK
        at = moment(row.judged_at or row.created_at)
        lines.append((_("holds beside"), memory_link(other, f"…{other[-12:]}"), why, row.judge, at))
    return lines


def _table(headings: Iterable[str], body: SafeString) -> SafeString:
    head = format_html_join("", "<th>{}</th>", ((name,) for name in headings))
    return format_html(
        '<div class="mos-scroll" tabindex="0"><table class="mos-versions"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>",
        head,
        body,
    )


def _upkeep(memory: Memory) -> MemoryUpkeep | None:
    if not hasattr(memory, "_upkeep"):
        rows = MemoryUpkeep.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)
        memory._upkeep = rows.first()  # type: ignore[attr-defined]
    return memory._upkeep  # type: ignore[attr-defined]
