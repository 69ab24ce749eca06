"""Builds links to rows, and masks names for users who may not read them."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.urls import NoReverseMatch, reverse
from django.utils.translation import ngettext

Staff = AbstractUser | AnonymousUser


def row_link(user: Staff, model: str, identity: uuid.UUID | str) -> str:
    """Return the admin's page of a row, or "" if the user may not see it."""
    if not user.has_perm(f"memory.view_{model}"):
        return ""
    try:
        return reverse(f"admin:memory_{model}_change", args=[identity])
    except NoReverseMatch:
        return ""


def mask_text(text: str, *, readable: bool, brief: bool = False) -> str:
    """Return a short memory text, such as a name, or only its length to users who may not read it.

    `brief` leaves out the word for characters where there is little room.
    """
    if readable:
        return text
    if brief:
        return f"••• {len(text)}"
    return "••• " + ngettext("(%(count)s character)", "(%(count)s characters)", len(text)) % {"count": len(text)}
