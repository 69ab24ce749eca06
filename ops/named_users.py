"""Finds users whom staff name in a form: by id, by name, or by the beginning of one of their keys."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.utils.translation import gettext as _

from memory.errors import InvalidInput, NotFound
from memory.models import User
from memory.models.access import TOKEN_MARK
from memory.services.cubes import share
from memory.services.tenancy import users
from memory.types import Access

# Number of users that a field suggests. It also accepts others.
MAX_OFFERED = 100


@dataclass(frozen=True, slots=True)
class OfferedUser:
    """A user that a field suggests: the value to type, and who it is."""

    value: str
    title: str


def offer_users(access: Access) -> list[OfferedUser]:
    """Return the newest reachable users, by name, or by id if several have the same name."""
    found, _more = users.list_users(access, limit=MAX_OFFERED)
    names = [user.name for user in found]
    return [
        OfferedUser(user.name, user.namespace.name)
        if names.count(user.name) == 1
        else OfferedUser(str(user.pk), f"{user.name} · {user.namespace.name}")
        for user in found
    ]


def find_named_user(access: Access, words: str) -> User:
    """Find a user. Raises NotFound if none is reached, InvalidInput if several have the name or none was given."""
    named = words.strip()
    if not named:
        raise InvalidInput(_("Name a user."), detail={"field": "user"})
    try:
        return _find_user(access, named)
    except NotFound:
        raise NotFound(
            _("There is no user “%(words)s” within your reach. Give a name, an id, or the beginning of a user's key.")
            % {"words": named[:100]},
            detail={"field": "user"},
        ) from None


def _find_user(access: Access, named: str) -> User:
    try:
        return users.find_user(access, user_id=uuid.UUID(named))
    except ValueError:
        pass
    if named.startswith(f"{TOKEN_MARK}_"):
        return share.find_owner(access, prefix=named)
    found, _more = users.list_users(access, name=named, limit=2)
    if len(found) > 1:
        raise InvalidInput(
            _("Several users are called “%(name)s”: give the id, which the user's page shows.") % {"name": named},
            detail={"field": "user"},
        )
    return found[0] if found else share.find_owner(access, prefix=named)
