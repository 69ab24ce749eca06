"""Builds Cubes: the reachable cubes, their contents, owners and shares."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, Sum
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import CubeKind, MemoryKind, ShareLevel
from memory.models import Cube, CubeShare, NamespaceStat, User
from memory.services.cubes.contents import MOST_COUNTED, count_contents
from ops.charts import Slice, StackedBar, bar_of_parts
from ops.pages.links import Staff, list_link, page_link
from ops.pages.tiles import Tile
from ops.words import Words

KINDS: Mapping[str, Words] = {
    CubeKind.TEXTUAL: gettext_lazy("texts"),
    CubeKind.ACTIVATION: gettext_lazy("activation caches"),
    CubeKind.PARAMETRIC: gettext_lazy("adapters"),
}
# Kinds that can be enabled in addition to texts, with their effects.
EXTRA_KINDS: Sequence[tuple[str, Words, Words]] = (
    (
        CubeKind.ACTIVATION,
        gettext_lazy("Activation caches"),
        gettext_lazy(
            "What a language model has computed for its prompts, kept in files, so that answers begin sooner."
        ),
    ),
    (
        CubeKind.PARAMETRIC,
        gettext_lazy("Adapters"),
        gettext_lazy(
            "Trained on its memories, if training.consent is on in its policy. Off: none is made, and those in use are "
            "taken out within a minute."
        ),
    ),
)
LEVELS: Mapping[str, Words] = {
    ShareLevel.READ: gettext_lazy("read"),
    ShareLevel.WRITE: gettext_lazy("read and write"),
}
_MEMORY_KINDS: Mapping[MemoryKind, Words] = {
    MemoryKind.SAID: gettext_lazy("said by people"),
    MemoryKind.ANSWERED: gettext_lazy("said by agents and tools"),
    MemoryKind.EPISODE: gettext_lazy("small talk"),
    MemoryKind.DOCUMENT: gettext_lazy("parts of documents"),
    MemoryKind.FACT: gettext_lazy("facts"),
    MemoryKind.PREFERENCE: gettext_lazy("preferences"),
}


@dataclass(frozen=True, slots=True)
class CubeShown:
    """A cube. `owner` is the user's name, or id if the user is out of reach.

    `extra_kinds` are those in addition to texts, as the service names them.
    """

    id: uuid.UUID
    name: str
    description: str
    namespace: str
    owner: str
    owner_id: uuid.UUID | None
    kinds: str
    extra_kinds: Sequence[str]
    revision: int
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CubeRow:
    """A cube in the list, with its number of searchable memories and of shares in force."""

    cube: CubeShown
    memories: int
    shares: int


@dataclass(frozen=True, slots=True)
class ContentsShown:
    """The contents of a cube: its figures, and its memories by kind (None if there are none)."""

    tiles: list[Tile]
    kinds: StackedBar | None


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
    """Return a cube as the page shows it."""
    owner = owners.get(cube.owner_id) if cube.owner_id else None
    return CubeShown(
        id=cube.pk,
        name=cube.name,
        description=cube.description,
        namespace=cube.namespace.name,
        owner=owner.name if owner else str(cube.owner_id or ""),
        owner_id=owner.pk if owner else None,
        kinds=", ".join(str(KINDS[kind]) for kind in cube.kinds),
        extra_kinds=[kind for kind in cube.kinds if kind != CubeKind.TEXTUAL],
        revision=cube.revision,
        created_by=cube.created_by,
        created_at=cube.created_at,
    )


def shares_shown(shares: Sequence[CubeShare], users: Mapping[uuid.UUID, User], *, now: datetime) -> list[ShareShown]:
    """Return the shares of a cube."""
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


def list_rows(cubes: Sequence[Cube], owners: Mapping[uuid.UUID, User], *, now: datetime) -> list[CubeRow]:
    """Return the cubes of a list."""
    ids = [cube.namespace_id for cube in cubes]
    counted = NamespaceStat.objects.filter(namespace_id__in=ids).order_by().values_list("namespace_id")
    memories = dict(counted.annotate(n=Sum("memories")))
    in_force = CubeShare.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), namespace_id__in=ids)
    shares = dict(in_force.order_by().values_list("namespace_id").annotate(n=Count("user_id")))
    return [
        CubeRow(cube_shown(cube, owners), memories.get(cube.namespace_id) or 0, shares.get(cube.namespace_id, 0))
        for cube in cubes
    ]


def contents_shown(cube: Cube, user: Staff) -> ContentsShown:
    """Return the contents of a cube; each figure links to what it counts."""
    held, ns = count_contents(cube), cube.namespace.name
    # A plain space lets a narrow tile break the line there instead of within the unit.
    size = filesizeformat(held["text_bytes"]).replace("\xa0", " ")
    tiles = [
        Tile(_("Memories"), _count(held["memories"]), _("that are searched"), list_link(user, "memory", ns)),
        Tile(_("Sessions"), _count(held["sessions"]), _("with messages"), page_link("ops:sessions", ns=ns)),
        Tile(_("Documents"), _count(held["documents"]), _("texts and files"), page_link("ops:documents", ns=ns)),
        Tile(_("Entities"), _count(held["entities"]), _("people, places, things"), page_link("ops:entities", ns=ns)),
        Tile(_("Size of texts"), size, _("estimated, without vectors")),
    ]
    tones = ("blue", "purple", "grey", "amber", "green", "orange")
    slices = [
        Slice(title, held["by_kind"][kind], tone)
        for (kind, title), tone in zip(_MEMORY_KINDS.items(), tones, strict=True)
    ]
    return ContentsShown(tiles, bar_of_parts(_("Memories by kind"), slices) if held["memories"] else None)


def _count(value: int) -> str:
    return f"{value:,}+" if value == MOST_COUNTED else f"{value:,}"
