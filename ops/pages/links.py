"""Builds links to the rows that a number counts, on pages of the console and the admin that exist."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.urls import NoReverseMatch, reverse

Staff = AbstractUser | AnonymousUser


def page_link(url_name: str, **query: str | int | None) -> str:
    """Return the page of that url name with the non-empty values of `query`, or "" if there is no such page."""
    try:
        url = reverse(url_name)
    except NoReverseMatch:
        return ""
    kept = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{url}?{urlencode(kept)}" if kept else url


def row_link(user: Staff, model: str, pk: object) -> str:
    """Return the admin's page of a row, or "" if the user may not see it."""
    if not user.has_perm(f"memory.view_{model}"):
        return ""
    try:
        return reverse(f"admin:memory_{model}_change", args=[pk])
    except NoReverseMatch:
        return ""


def list_link(user: Staff, model: str, ns: str = "", **filters: str) -> str:
    """Return the admin's list of these rows, in the namespace `ns` if given, or "" if the user may not see it."""
    if not user.has_perm(f"memory.view_{model}"):
        return ""
    return page_link(f"admin:memory_{model}_changelist", namespace=ns, **filters)
