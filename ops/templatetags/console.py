"""Tags and filters of the console's templates: `{% load console %}`. docs/develop/console-pages.md lists them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.template.context import RequestContext
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.models import Memory
from memory.models.access import TOKEN_MARK
from memory.models.memory import spans_of
from ops.access import MASK, permission_title, reachable_namespaces, reads_text
from ops.charts import milliseconds
from ops.navigation import groups, keep_query

register = template.Library()

# Number of namespaces that the picker lists. Beyond that it has a text field.
MAX_OFFERED = 200
# Icon for each tone of a status, so that it does not depend on colour alone.
TONE_ICONS = {"good": "check", "weak": "alert", "bad": "cross", "off": "minus", "busy": "refresh", "info": "info"}


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """`{% icon "radar" %}`: a decorative symbol of icons.svg, to be used with a word."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        classes,
        static("ops/icons.svg"),
        name,
    )


@register.simple_tag(takes_context=True)
def query_fields(context: RequestContext, *without: str) -> SafeString:
    """`{% query_fields "why" %}`: the query parameters, except these, as hidden fields of a GET form.

    In a template, `request.GET.items` would be a parameter called `items`, if there is one.
    """
    request = context.request
    pairs = ((name, request.GET[name]) for name in request.GET if name not in without)
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', pairs)


@register.simple_tag
def badge(tone: str, word: Any) -> SafeString:
    """`{% badge "good" _("Works") %}`: a status as icon, word and colour; tones: good, weak, bad, off, busy, info."""
    return format_html('<span class="state state-{}">{}{}</span>', tone, icon(TONE_ICONS.get(tone, "minus")), word)


@register.simple_tag
def ago(moment: datetime | None, absent: str = "–") -> SafeString | str:
    """`{% ago row.created_at %}`: the time since or until a moment, which is shown in UTC on focus and hover."""
    if moment is None:
        return absent
    now = timezone.now()
    exact = moment.astimezone(timezone.get_default_timezone()).strftime("%Y-%m-%d %H:%M:%S UTC")
    return format_html(
        '<time class="ago" datetime="{}" tabindex="0">{}<span class="ago-exact">{}</span></time>',
        moment.isoformat(),
        _relative(moment, now),
        exact,
    )


def _relative(moment: datetime, now: datetime) -> str:
    gap = now - moment
    if gap < timedelta(0):
        return (
            _("in %(time)s") % {"time": timesince(now, moment, depth=1)} if -gap >= timedelta(minutes=1) else _("soon")
        )
    if gap < timedelta(minutes=1):
        return _("%(seconds)d s ago") % {"seconds": gap.total_seconds()}
    return _("%(time)s ago") % {"time": timesince(moment, now, depth=1)}


@register.filter
def number(value: Any) -> str:
    """Format a count with thousands separators; – for None."""
    return "–" if value is None else number_format(value, decimal_pos=0, use_l10n=True, force_grouping=True)


@register.filter
def decimal(value: Any, places: int = 2) -> str:
    """Format a number with `places` decimals; – for None."""
    if value is None:
        return "–"
    # number_format truncates, so the number is rounded first.
    return number_format(round(float(value), int(places)), decimal_pos=int(places), force_grouping=True)


@register.filter
def span(seconds: int) -> str:
    """Format seconds in a suitable unit: 95 s, 54 min, 3 h, 2 d."""
    for length, words in ((86_400, _("%(n)s d")), (3_600, _("%(n)s h")), (60, _("%(n)s min"))):
        if seconds >= 2 * length:
            return words % {"n": seconds // length}
    return _("%(n)s s") % {"n": seconds}


@register.filter
def minus(value: int, other: int) -> int:
    return value - other


@register.filter
def signed(value: Any, places: int = 4) -> str:
    """Format a share with its sign: +0.1200, −0.0300, 0."""
    if value is None:
        return "–"
    return f"{float(value):+.{int(places)}f}".replace("-", "−") if round(float(value), int(places)) else "0"


@register.filter
def percent(value: Any, places: int = 0) -> str:
    """Format a share (0.25) in percent; – for None."""
    return "–" if value is None else f"{float(value):.{int(places)}%}"


@register.filter(name="milliseconds")
def milliseconds_filter(value: Any) -> str:
    """Format milliseconds as charts do."""
    return milliseconds(None if value is None else float(value))


@register.inclusion_tag("ops/parts/tile.html")
def tile(tile: Any) -> dict[str, Any]:
    """`{% tile tile %}`: renders an `ops.pages.tiles.Tile`."""
    return {"tile": tile}


@register.simple_tag
def chart(drawn: Any) -> str:
    """`{% chart figure %}`: renders a value of ops.charts, and nothing for None."""
    return render_to_string(drawn.template, {"chart": drawn}) if drawn is not None else ""


@register.inclusion_tag("ops/parts/empty.html")
def empty(title: Any, text: Any = "", command: str = "", link: str = "", link_text: Any = "") -> dict[str, Any]:
    """`{% empty title text command=… link=… link_text=… %}`: why the page is empty, and what to type or open."""
    return {"title": title, "text": text, "command": command, "link": link, "link_text": link_text}


@register.inclusion_tag("ops/parts/command.html")
def command(text: str, label: Any = "") -> dict[str, Any]:
    """`{% command curl _("Copy as curl") %}`: a command with a copy button."""
    return {"text": text, "label": label}


@register.simple_tag
def problem(problems: Mapping[str, str] | None, field: str) -> SafeString | str:
    """`{% problem problems "name" %}`: the error of a field, shown below it; `invalid` refers to it."""
    words = (problems or {}).get(field)
    return format_html('<span class="field-error" id="wrong-{}">{}</span>', field, words) if words else ""


@register.simple_tag
def invalid(problems: Mapping[str, str] | None, field: str, help_id: str = "") -> SafeString | str:
    """`<input {% invalid problems "name" "name-help" %}>`: the attributes of a field with an error below it."""
    if (problems or {}).get(field):
        described = f"{help_id} wrong-{field}".strip()
        return format_html('aria-invalid="true" aria-describedby="{}"', described)
    return format_html('aria-describedby="{}"', help_id) if help_id else ""


@register.filter
def entry(values: Mapping[str, Any], name: str) -> Any:
    """Return the value of a mapping for a name, or ""."""
    return values.get(name, "")


@register.filter(name="actor")
def name_actor(actor: str) -> str:
    """Describe an actor of the audit log (`key:4ceb46c3`, `staff:ann`)."""
    kind, _colon, name = actor.partition(":")
    if kind == "key" and name:
        return _("API key %(prefix)s") % {"prefix": f"{TOKEN_MARK}_{name}_…"}
    return name if kind == "staff" and name else actor


@register.inclusion_tag("ops/parts/masked.html", takes_context=True)
def memory_text(context: RequestContext, text: str, chars: int = 0) -> dict[str, Any]:
    """`{% memory_text memory.text %}`: the text of a memory or, without `view_memory_text`, its length only.

    `chars` cuts it for lists.
    """
    request = context["request"]
    if not reads_text(request):
        length = ngettext("%(count)s character", "%(count)s characters", len(text)) % {"count": number(len(text))}
        return {"masked": True, "length": length, "permission": permission_title("ops.view_memory_text")}
    cut = text if not chars or len(text) <= chars else text[: chars - 1].rstrip() + "…"
    return {"masked": False, "text": cut}


@register.simple_tag(takes_context=True)
def speaker(context: RequestContext, name: Any, role: Any = "") -> str:
    """`{% speaker memory.speaker memory.role %}`: the speaker or, without `view_memory_text`, only the role."""
    if name and reads_text(context["request"]):
        return str(name)
    return str(role or (MASK if name else ""))


@register.simple_tag(takes_context=True)
def typed(context: RequestContext, words: Any) -> str:
    """`{% typed one.reason %}`: a typed text or a title, masked without `view_memory_text`."""
    return str(words) if not words or reads_text(context["request"]) else MASK


@register.inclusion_tag("ops/parts/masked.html", takes_context=True)
def memory_words(context: RequestContext, memory: Memory, chars: int = 0) -> dict[str, Any]:
    """`{% memory_words memory 1200 %}`: like `memory_text`, with retired parts struck out."""
    shown = memory_text(context, memory.text, chars)
    return shown if shown["masked"] or not memory.retired_spans else {**shown, "pieces": _pieces(memory, shown["text"])}


def _pieces(memory: Memory, text: str) -> list[tuple[bool, str]]:
    """Return the text in pieces, each with whether it is retired."""
    pieces, at = [], 0
    for start, end in sorted(spans_of(memory.retired_spans)):
        first, last = min(max(at, start), len(text)), min(max(at, end), len(text))
        pieces += [(False, text[at:first]), (True, text[first:last])]
        at = last
    return [(retired, piece) for retired, piece in [*pieces, (False, text[at:])] if piece]


@register.inclusion_tag("ops/parts/pager.html", takes_context=True)
def pager(
    context: RequestContext, newer: str = "", older: str = "", newer_word: str = "", older_word: str = ""
) -> dict[str, Any]:
    """`{% pager newer older %}`: links of a keyset list; each is the `cursor` of that page, or "" for none.

    Pass `newer="first"` for the newest page, whose link has no cursor. Lists in other orders pass their own words.
    """
    request = context["request"]

    def link(cursor: str) -> str:
        query = request.GET.copy()
        query.pop("cursor", None)
        query.pop("v", None)
        if cursor != "first":
            query["cursor"] = cursor
        return f"?{query.urlencode()}"

    return {
        "newer": link(newer) if newer else "",
        "older": link(older) if older else "",
        "newer_word": newer_word,
        "older_word": older_word,
    }


@register.simple_tag(takes_context=True)
def ns_url(context: RequestContext, name: str, *args: Any, **kwargs: Any) -> str:
    """`{% ns_url "ops:audit" %}`: the url of that name, with the `ns` and `window` of this page."""
    return reverse(name, args=args, kwargs=kwargs) + keep_query(context["request"])


@register.inclusion_tag("ops/parts/sidebar.html", takes_context=True)
def sidebar(context: RequestContext) -> dict[str, Any]:
    return {"groups": groups(context["request"])}


@register.inclusion_tag("ops/parts/namespace_picker.html", takes_context=True)
def namespace_picker(context: RequestContext) -> dict[str, Any]:
    """Return the namespaces to choose from: a list, or suggestions for a text field if more than MAX_OFFERED."""
    request = context["request"]
    names = list(reachable_namespaces(request).values_list("name", flat=True)[: MAX_OFFERED + 1])
    kept = [(key, value) for key, value in request.GET.items() if key not in ("ns", "cursor", "v", "session")]
    chosen = request.GET.get("ns", "")
    return {
        "names": names[:MAX_OFFERED],
        "many": len(names) > MAX_OFFERED,
        "chosen": chosen,
        "known": chosen in names,
        "kept": kept,
    }
