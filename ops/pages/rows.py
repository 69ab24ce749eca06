"""Links from a page to the rows that it speaks of, and names as far as one may read them."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.urls import NoReverseMatch, reverse
from django.utils.translation import ngettext

Staff = AbstractUser | AnonymousUser


def row_link(user: Staff, model: str, identity: uuid.UUID | str) -> str:
    """The admin's page of one row; empty when the user may not see it."""
    if not user.has_perm(f"memory.view_{model}"):
        return ""
    try:
        return reverse(f"admin:memory_{model}_change", args=[identity])
    except NoReverseMatch:
        return ""


def mask_text(text: str, *, readable: bool, brief: bool = False) -> str:
    """A short text out of memories, such as a name; to those who may not read it, only how long it is.

    `brief`: without the word for characters, where there is no room.
    """
    if readable:
        return text
    if brief:
        return f"••• {len(text)}"
    return "••• " + ngettext("(%(count)s character)", "(%(count)s characters)", len(text)) % {"count": len(text)}
