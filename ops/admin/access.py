"""API keys: issuing one with its token shown once, viewing and revoking. A plain GET changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.enums import AccessScope, BudgetPeriod
from memory.errors import InvalidInput
from memory.governance.budget import Budget
from memory.models import ApiKey
from memory.services.tenancy import keys
from ops.access import permission_title, staff_access, staff_actor
from ops.admin.lists import LargeTableAdmin
from ops.admin.scope import member

# Permissions that the issuer needs for each scope. Routes that write also return texts: a changed memory, and
# quarantined items.
SCOPE_NEEDS = {
    AccessScope.READ: "ops.view_memory_text",
    AccessScope.WRITE: "ops.view_memory_text",
    AccessScope.ADMIN: "ops.reset_session",
}


BUDGET = ("budget_period", "budget_soft_usd", "budget_hard_usd", "budget_soft_tokens", "budget_hard_tokens")


class IssueForm(forms.ModelForm):
    """A new key: its name, scopes, namespaces and expiry."""

    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"),
        choices=AccessScope.choices,
        initial=[AccessScope.READ, AccessScope.WRITE],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "read: query and lists · write: ingest and demo data · admin: emptying sessions, metrics"
        ),
    )

    # The user who issues the key; `get_form` sets it.
    issuer: ClassVar[User]

    class Meta:
        model = ApiKey
        fields = (
            "name",
            "scopes",
            "all_namespaces",
            "namespaces",
            "default_namespace",
            "expires_at",
            "requests_per_minute",
            *BUDGET,
        )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in BUDGET:
            # An empty field means no limit.
            self.fields[name].required = False

    def clean_scopes(self) -> list[str]:
        """Refuse scopes that the issuer's own permissions do not cover."""
        scopes: list[str] = self.cleaned_data["scopes"]
        for scope in scopes:
            needed = SCOPE_NEEDS[AccessScope(scope)]
            if not self.issuer.has_perm(needed):
                refused = _("A key with the scope %(scope)s needs your own permission “%(permission)s”.")
                raise forms.ValidationError(refused % {"scope": scope, "permission": permission_title(needed)})
        return scopes

    def clean(self) -> dict[str, Any]:
        """Repeat the checks of the service, so that errors appear next to the fields that they concern."""
        values = super().clean() or self.cleaned_data
        if values.get("all_namespaces") and values.get("namespaces"):
            self.add_error("namespaces", _("Grant either all namespaces or the named ones, not both."))
        if not values.get("all_namespaces") and not values.get("namespaces"):
            self.add_error(
                "namespaces", _("A key without a namespace reaches nothing: name one, or grant all namespaces.")
            )
        default = values.get("default_namespace")
        named = [one.name for one in values.get("namespaces") or ()]
        if default and not values.get("all_namespaces") and default not in named:
            self.add_error("default_namespace", _("The key does not reach this namespace: grant it too."))
        expires_at = values.get("expires_at")
        if expires_at is not None and expires_at <= timezone.now():
            self.add_error("expires_at", _("The expiry lies in the past."))
        if all(name in values for name in BUDGET):
            try:
                keys.check_budget(budget_of(values))
            except InvalidInput as error:
                self.add_error(error.detail["field"], error.message)
        return values


def budget_of(values: Mapping[str, Any]) -> Budget:
    """Return the key's budget from the form."""
    limits: dict[str, Any] = {
        name.removeprefix("budget_"): values[name] or 0 for name in BUDGET if name != "budget_period"
    }
    return Budget(period=BudgetPeriod(values["budget_period"] or BudgetPeriod.MONTH), **limits)


class UsableFilter(admin.SimpleListFilter):
    """Filters keys by whether they can still be used."""

    title = gettext_lazy("use")
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [("usable", _("Usable")), ("revoked", _("Revoked")), ("expired", _("Expired"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        now = timezone.now()
        if self.value() == "usable":
            return queryset.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
        if self.value() == "revoked":
            return queryset.exclude(revoked_at=None)
        if self.value() == "expired":
            return queryset.filter(revoked_at=None, expires_at__lte=now)
        return queryset


@admin.register(ApiKey)
class ApiKeyAdmin(LargeTableAdmin):
    """Keys of clients. A key cannot be changed: revoke it and issue another."""

    list_display = ("name", "prefix", "granted", "reach", "usable", "last_used_at", "expires_at", "created_at")
    list_filter = (UsableFilter,)
    search_fields = ("name", "prefix")
    search_help_text = gettext_lazy("Name or prefix (the eight characters after mos_)")
    autocomplete_fields = ("namespaces",)
    actions = ("revoke_selected",)
    fields = (
        "name",
        "scopes",
        "all_namespaces",
        "namespaces",
        "default_namespace",
        "expires_at",
        "requests_per_minute",
        *BUDGET,
    )
    shown_fields = ("name", "prefix", "granted", "reach", "default_namespace", "usable", "expires_at",
                    "requests_per_minute", *BUDGET, "created_at", "last_used_at", "revoked_at")  # fmt: skip

    def get_form(self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            kwargs["form"] = type("IssueForm", (IssueForm,), {"issuer": member(request)})
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        if obj is not None:
            return self.shown_fields
        if staff_access(request).all_namespaces:
            return self.fields
        return [name for name in self.fields if name != "all_namespaces"]

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Return only keys that reach nothing beyond what this member of staff reaches."""
        rows = super().get_queryset(request).defer("digest").prefetch_related("namespaces")
        access = staff_access(request)
        if access.all_namespaces:
            return rows
        grants = ApiKey.namespaces.through.objects.filter(apikey_id=OuterRef("pk"))
        beyond = grants.exclude(namespace_id__in=access.namespace_ids)
        return rows.filter(Exists(grants), ~Exists(beyond), all_namespaces=False)

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Require the permission to change keys for revoking them."""
        user = request.user
        return user.is_active and user.is_staff and user.has_perm("memory.change_apikey")

    def get_urls(self) -> list[URLPattern]:
        """Add the page that revokes one key to the admin's own URLs."""
        revoke = path(
            "<path:object_id>/revoke/", self.admin_site.admin_view(self.revoke_view), name="memory_apikey_revoke"
        )
        return [revoke, *super().get_urls()]

    def save_model(self, request: HttpRequest, obj: ApiKey, form: forms.ModelForm, change: bool) -> None:
        values = form.cleaned_data
        issued, token = keys.issue_key(
            name=values["name"],
            scopes=values["scopes"],
            namespaces=list(values["namespaces"]),
            all_namespaces=values.get("all_namespaces", False),
            default_namespace=values["default_namespace"],
            expires_at=values["expires_at"],
            requests_per_minute=values["requests_per_minute"],
            budget=budget_of(values),
            actor=staff_actor(request),
            now=timezone.now(),
        )
        obj.pk, obj.prefix = issued.pk, issued.prefix
        obj._state.adding = False
        request.issued_token = token  # type: ignore[attr-defined]

    def save_related(self, request: HttpRequest, form: forms.ModelForm, formsets: Any, change: bool) -> None:
        """Do nothing, because the service has already granted the namespaces."""

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Show the token in the response itself, so that it is in no session, cookie or log, and never shown again."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("API key issued"),
            "opts": self.opts,
            "key": obj,
            "token": request.issued_token,  # type: ignore[attr-defined]
            "server": request.build_absolute_uri("/").rstrip("/"),
        }
        return TemplateResponse(request, "admin/memory/apikey/issued.html", context)

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for confirmation on GET, and revoke on POST."""
        if not self.has_revoke_permission(request):
            raise PermissionDenied
        key = self.get_object(request, unquote(object_id))
        if key is None:
            raise Http404
        if request.method == "POST":
            self._revoke(request, [key])
            return HttpResponseRedirect(reverse("admin:memory_apikey_changelist"))
        return self._confirmation(request, [key])

    @admin.action(description=gettext_lazy("Revoke for good"), permissions=["revoke"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Ask for confirmation first; the second POST revokes."""
        if "confirmed" in request.POST:
            self._revoke(request, list(queryset))
            return HttpResponseRedirect(request.get_full_path())
        return self._confirmation(request, list(queryset), action="revoke_selected")

    def _revoke(self, request: HttpRequest, chosen: list[ApiKey]) -> None:
        now = timezone.now()
        count = sum(keys.revoke_key(key_id=key.pk, actor=staff_actor(request), now=now) for key in chosen)
        said = ngettext("%(n)s key was revoked.", "%(n)s keys were revoked.", count) % {"n": count}
        if rest := len(chosen) - count:
            already = ngettext("%(n)s was revoked already.", "%(n)s were revoked already.", rest) % {"n": rest}
            said = f"{said} {already}"
        messages.success(request, said)

    def _confirmation(self, request: HttpRequest, chosen: list[ApiKey], *, action: str = "") -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Revoke API keys"),
            "opts": self.opts,
            "keys": chosen,
            "action": action,
        }
        return TemplateResponse(request, "admin/memory/apikey/revoke.html", context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a single button, because an issued key cannot be edited further."""
        one_button = {"show_save_and_continue": False, "show_save_and_add_another": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **one_button})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {**(extra_context or {}), "may_revoke": self.has_revoke_permission(request)}
        return super().change_view(request, object_id, form_url, context)

    @admin.display(description=gettext_lazy("scopes"))
    def granted(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=gettext_lazy("namespaces"))
    def reach(self, key: ApiKey) -> str:
        named = ", ".join(sorted(one.name for one in key.namespaces.all()))
        return _("all") if key.all_namespaces else named or _("none")

    @admin.display(description=gettext_lazy("usable"), boolean=True)
    def usable(self, key: ApiKey) -> bool:
        return key.is_usable
