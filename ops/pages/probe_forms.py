"""The forms of the radar and of the inspector's try-it box."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from django import forms
from django.http import Http404, HttpRequest
from django.utils.translation import gettext_lazy as _

from memory.enums import Role, Tier
from memory.models import Namespace
from memory.services.recall.probe import DEFAULT_TOP_K, Probe, ProbeSetting, check_filter
from memory.types import NewMemory, Scope
from ops.access import reachable_namespaces, reads_text, request_id, staff_actor

STORE = "memory.add_memory"
MAX_QUESTION_CHARS = 2000
MAX_TOP_K = 50
MAX_PACK_TOKENS = 200_000
# Number of namespaces that the form lists. If there are more, it suggests these and accepts any.
MAX_OFFERED = 200


class _Moment(forms.DateTimeField):
    """A date and time in UTC."""

    def __init__(self, **options: Any) -> None:
        widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": "1"})
        super().__init__(required=False, widget=widget, **options)


class _FilterField(forms.CharField):
    """A JSON object in the filter language of the API, or an empty one."""

    def __init__(self, **options: Any) -> None:
        # Filters by metadata and speakers would let users find out texts that they may not read, letter by letter.
        self.readable = True
        widget = forms.Textarea(
            attrs={"rows": 2, "spellcheck": "false", "placeholder": '{"metadata.project": "apollo"}'}
        )
        super().__init__(required=False, max_length=10_000, widget=widget, **options)

    def clean(self, value: Any) -> dict[str, Any]:
        text = super().clean(value)
        if not text:
            return {}
        try:
            data = json.loads(text)
        except RecursionError:
            raise forms.ValidationError(_("It is nested too deep.")) from None
        except ValueError as error:
            raise forms.ValidationError(_("This is not JSON: %(problem)s."), params={"problem": error}) from error
        try:
            check_filter(data)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        if not self.readable and (name := next(_find_hidden_names(data), "")):
            raise forms.ValidationError(
                _("Filtering by %(name)s needs the permission to read what memories say."), params={"name": name}
            )
        return dict(data)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""


def _find_hidden_names(data: Any) -> Iterator[str]:
    """Yield the fields of a filter that only users who may read texts can filter by."""
    if isinstance(data, list):
        for one in data:
            yield from _find_hidden_names(one)
    elif isinstance(data, dict):
        for name, value in data.items():
            if name.startswith("metadata.") or name == "speaker":
                yield name
            yield from _find_hidden_names(value)


class QuestionForm(forms.Form):
    """The question and its namespace. Validation raises Http404 for a namespace out of reach."""

    text = forms.CharField(
        label=_("Question"),
        max_length=MAX_QUESTION_CHARS,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": _("What would an agent ask?")}),
    )
    namespace = forms.CharField(label=_("Namespace"), max_length=128)

    def __init__(self, request: HttpRequest, **options: Any) -> None:
        super().__init__(**options)
        self._request = request
        names = list(reachable_namespaces(request).values_list("name", flat=True)[: MAX_OFFERED + 1])
        self.names = names[:MAX_OFFERED]
        if len(names) <= MAX_OFFERED:
            self.fields["namespace"].widget = forms.Select(choices=[(name, name) for name in names])
        else:
            self.fields["namespace"].widget = forms.TextInput(attrs={"list": "probe-namespaces", "autocomplete": "off"})

    def clean_namespace(self) -> Namespace:
        found = reachable_namespaces(self._request).filter(name=self.cleaned_data["namespace"]).first()
        if found is None:
            raise Http404("There is no such namespace.")
        return found

    def scope(self) -> Scope:
        """Return the scope of the question's namespace, with the user as actor."""
        namespace = self.cleaned_data["namespace"]
        return Scope(namespace.pk, namespace.name, staff_actor(self._request), request_id(self._request))


class RadarForm(QuestionForm):
    """The question of the radar."""

    show_dropped = forms.BooleanField(label=_("Show what did not come back"), required=False)
    compare = forms.BooleanField(label=_("Compare with a second setting"), required=False)


class SettingForm(forms.Form):
    """A setting of the radar: the fields of `ProbeSetting`."""

    session = forms.CharField(
        label=_("Session"), required=False, max_length=128, widget=forms.TextInput(attrs={"placeholder": _("any")})
    )
    top_k = forms.IntegerField(label=_("Memories wanted"), min_value=1, max_value=MAX_TOP_K, initial=DEFAULT_TOP_K)
    role = forms.ChoiceField(label=_("Role"), required=False, choices=[("", _("any")), *Role.choices])
    speaker = forms.CharField(
        label=_("Speaker"), required=False, max_length=128, widget=forms.TextInput(attrs={"placeholder": _("any")})
    )
    tier = forms.ChoiceField(label=_("Tier"), required=False, choices=[("", _("any")), *Tier.choices])
    since = _Moment(label=_("Happened from (UTC)"))
    until = _Moment(label=_("Happened before (UTC)"))
    as_of = _Moment(label=_("As of (UTC)"), help_text=_("What was recorded and believed by then"))
    valid_at = _Moment(label=_("Valid at (UTC)"), help_text=_("What holds at that time, in the time of what is told"))
    filter = _FilterField(label=_("Filter (JSON)"), help_text=_("In the filter language of the API, also on metadata"))

    # These fields are always visible; the others are collapsed until they are used.
    MAIN = ("session", "top_k")

    def __init__(self, *, readable: bool, **options: Any) -> None:
        """Set up the form. `readable`: the user may read memory text, and so filter by it."""
        super().__init__(**options)
        field = self.fields["filter"]
        assert isinstance(field, _FilterField)
        field.readable = readable
        if not readable:
            self.fields["speaker"].disabled = True

    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN]

    def more_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.MAIN]

    @property
    def narrows(self) -> bool:
        """Return whether one of the collapsed fields is filled in."""
        return any(field.value() not in (None, "", {}) or field.errors for field in self.more_fields())

    def setting(self, *, show_dropped: bool) -> ProbeSetting:
        return ProbeSetting(**self.cleaned_data, show_dropped=show_dropped)


class TryForm(QuestionForm):
    """The inspector's try-it box: a question as an agent asks it in a session. It is stored if `store` is ticked.

    The box is only for users who may add memories.
    """

    session = forms.CharField(label=_("Session"), max_length=128)
    top_k = forms.IntegerField(label=_("Memories wanted"), min_value=1, max_value=MAX_TOP_K, initial=6)
    max_tokens = forms.IntegerField(
        label=_("Tokens at most"), required=False, min_value=1, max_value=MAX_PACK_TOKENS,
        widget=forms.NumberInput(attrs={"placeholder": _("as configured")}),
    )  # fmt: skip
    as_of = _Moment(label=_("As of (UTC)"))
    store = forms.BooleanField(
        label=_("Also store this as a turn of the session"),
        required=False,
        help_text=_("As a client does: it becomes a memory, if the gate lets it in, and is found from then on."),
    )

    def __init__(self, request: HttpRequest, **options: Any) -> None:
        super().__init__(request, **options)
        if not request.user.has_perm(STORE):
            del self.fields["store"]

    def turn(self) -> NewMemory | None:
        """Return the turn to store, or None if that was not requested."""
        if not self.cleaned_data.get("store"):
            return None
        given = self.cleaned_data
        return NewMemory(given["session"], Role.USER.value, given["text"], metadata={"from": "console"})

    def setting(self) -> ProbeSetting:
        return ProbeSetting(top_k=self.cleaned_data["top_k"], as_of=self.cleaned_data["as_of"], show_dropped=False)


def radar_forms(request: HttpRequest, probe: Probe | None = None, *, quote: bool = True) -> list[forms.Form]:
    """Return the question's form and those of the settings A and B: as posted, or from `probe`, or empty.

    `quote`: the user may read the question.
    """
    readable = reads_text(request)
    if request.method == "POST":
        return [
            RadarForm(request, data=request.POST),
            SettingForm(readable=readable, data=request.POST, prefix="a"),
            SettingForm(readable=readable, data=request.POST, prefix="b"),
        ]
    if probe is None:
        asked = {"namespace": request.GET.get("ns", ""), "show_dropped": True}
        return [RadarForm(request, initial=asked),
                SettingForm(readable=readable, prefix="a"), SettingForm(readable=readable, prefix="b")]  # fmt: skip
    settings = [{one.name: getattr(setting, one.name) for one in fields(ProbeSetting)} for setting in probe.settings]
    asked = {
        "text": probe.text if quote else "",
        "namespace": probe.scope.namespace,
        "show_dropped": probe.settings[0].show_dropped,
        "compare": len(settings) > 1,
    }
    return [
        RadarForm(request, initial=asked),
        SettingForm(readable=readable, prefix="a", initial=settings[0]),
        SettingForm(readable=readable, prefix="b", initial=settings[-1]),
    ]
