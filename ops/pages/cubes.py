"""What Cubes shows: the cubes that are reached, what each holds, whose it is and with whom it is shared."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import CubeKind, MemoryKind, ShareLevel
from memory.models import Cube, CubeShare, User
from memory.services.cubes.contents import count_contents
from ops.words import Words

KINDS: Mapping[str, Words] = {
    CubeKind.TEXTUAL: gettext_lazy("texts"),
    CubeKind.ACTIVATION: gettext_lazy("activations"),
    CubeKind.PARAMETRIC: gettext_lazy("adapters"),
}
LEVELS: Mapping[str, Words] = {
    ShareLevel.READ: gettext_lazy("to read"),
    ShareLevel.WRITE: gettext_lazy("to read and write"),
}
_MEMORY_KINDS: Mapping[MemoryKind, Words] = {
    MemoryKind.SAID: gettext_lazy("said by people"),
    MemoryKind.ANSWERED: gettext_lazy("said by agents and tools"),
    MemoryKind.EPISODE: gettext_lazy("talk that says little"),
    MemoryKind.DOCUMENT: gettext_lazy("chunks of documents"),
    MemoryKind.FACT: gettext_lazy("facts"),
    MemoryKind.PREFERENCE: gettext_lazy("preferences"),
}


@dataclass(frozen=True, slots=True)
class CubeShown:
    """A cube; `owner` is the user's name, or id where this member of staff does not reach the user."""

    id: uuid.UUID
    name: str
    description: str
    namespace: str
    owner: str
    owner_id: uuid.UUID | None
    kinds: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ShareShown:
    user_id: uuid.UUID
    user: str
    reached: bool
    level: Words
    tone: str
    word: str
    expires_at: datetime | None
    created_by: str
    created_at: datetime


def cube_shown(cube: Cube, owners: Mapping[uuid.UUID, User]) -> CubeShown:
    """A cube as the page shows it."""
    owner = owners.get(cube.owner_id) if cube.owner_id else None
    return CubeShown(
        id=cube.pk,
        name=cube.name,
        description=cube.description,
        namespace=cube.namespace.name,
        owner=owner.name if owner else str(cube.owner_id or ""),
        owner_id=owner.pk if owner else None,
        kinds=", ".join(str(KINDS[kind]) for kind in cube.kinds),
        created_by=cube.created_by,
        created_at=cube.created_at,
    )


def shares_shown(shares: Sequence[CubeShare], users: Mapping[uuid.UUID, User], *, now: datetime) -> list[ShareShown]:
    """With whom a cube is shared."""
    rows = []
    for one in shares:
        over = one.expires_at is not None and one.expires_at <= now
        user = users.get(one.user_id)
        rows.append(
            ShareShown(
                user_id=one.user_id,
                user=user.name if user else str(one.user_id),
                reached=user is not None,
                level=LEVELS[one.level],
                tone="off" if over else "good",
                word=_("Expired") if over else _("In force"),
                expires_at=one.expires_at,
                created_by=one.created_by,
                created_at=one.created_at,
            )
        )
    return rows


def list_figures(cube: Cube) -> list[tuple[str, int]]:
    """What a cube holds, each with its number; bytes of texts last."""
    held = count_contents(cube)
    kinds = [(str(title), held["by_kind"][kind]) for kind, title in _MEMORY_KINDS.items()]
    return [
        (_("memories"), held["memories"]),
        *kinds,
        (_("sessions"), held["sessions"]),
        (_("documents"), held["documents"]),
        (_("entities"), held["entities"]),
        (_("bytes of text, estimated"), held["text_bytes"]),
    ]
