"""Where the rows of a number are: addresses of the console's own pages and of the admin, as far as they are there."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.urls import NoReverseMatch, reverse

Staff = AbstractUser | AnonymousUser


def page_link(url_name: str, **query: str | int | None) -> str:
    """The page of that url name with what of `query` is not empty; empty when there is no such page."""
    try:
        url = reverse(url_name)
    except NoReverseMatch:
        return ""
    kept = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{url}?{urlencode(kept)}" if kept else url


def row_link(user: Staff, model: str, pk: object) -> str:
    """The admin's page of one row; empty when the user may not see it."""
    if not user.has_perm(f"memory.view_{model}"):
        return ""
    try:
        return reverse(f"admin:memory_{model}_change", args=[pk])
    except NoReverseMatch:
        return ""


def list_link(user: Staff, model: str, ns: str = "", **filters: str) -> str:
    """The admin's list of these rows, of the namespace `ns` if given; empty when the user may not see it."""
    if not user.has_perm(f"memory.view_{model}"):
        return ""
    return page_link(f"admin:memory_{model}_changelist", namespace=ns, **filters)
