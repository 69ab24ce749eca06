"""Checks the addresses of webhooks: their form, and the networks that they may reach.

A name is resolved once for each attempt, and the connection is made to the resolved address. A name that resolves
differently the next moment (DNS rebinding) therefore reaches nothing else.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from memory.errors import InvalidInput

MAX_URL_CHARS = 2000
# The most addresses of a name that are tried.
MAX_ADDRESSES = 4
_PORTS = {"http": 80, "https": 443}
# IPv6 addresses that stand for an IPv4 address, which a gateway translates (RFC 6052).
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
# Networks that some versions of Python count as public: protocol assignments, 6to4 relays, documentation, segment
# routing.
_NOT_PUBLIC = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "5f00::/16")))

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(Exception):
    """Deliveries may not go to the address; the message says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A parsed address. `path` includes the query; `host` is without brackets."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return the value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(url: str) -> WebhookTarget:
    """Parse the address of a webhook. Raises InvalidInput."""
    if len(url) > MAX_URL_CHARS or not url.isascii() or any(sign <= " " or sign == "\x7f" for sign in url):
        raise _invalid(f"has 1 to {MAX_URL_CHARS} visible ASCII characters: write others as %XX, a name as xn--….")
    parts = _split(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _invalid("begins with https:// and the name of a host.")
    if parts.scheme == "http" and not settings.MEMOS_WEBHOOK_PRIVATE:
        raise _invalid("begins with https://; plain http is for MEMOS_WEBHOOK_PRIVATE=1.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise _invalid("has no user, password or fragment: deliveries are signed, so no password is needed.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = WebhookTarget(parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme], path)
    try:
        refuse_address(ipaddress.ip_address(target.host), target.host)
    except AddressRefused as refused:
        raise InvalidInput(str(refused), detail={"field": "url"}) from None
    except ValueError:
        # It is a name, which is resolved at each delivery.
        pass
    return target


def resolve(target: WebhookTarget) -> list[str]:
    """Return the addresses to connect to. Raises AddressRefused when one of them is refused, OSError when there are
    none."""
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        # A name with both kinds of addresses is refused completely: which one is used must not depend on luck.
        refuse_address(ipaddress.ip_address(address.partition("%")[0]), target.host)
    return addresses[:MAX_ADDRESSES]


def refuse_address(address: Address, host: str) -> None:
    """Raise AddressRefused for an address outside the public internet, unless the settings allow those."""
    if settings.MEMOS_WEBHOOK_PRIVATE:
        return
    if not all(map(_is_public, _addresses_in(address))):
        raise AddressRefused(
            f"{host} leads to an address that is not public ({address}). Give an address of the public internet; "
            "the server's operator may allow others (MEMOS_WEBHOOK_PRIVATE)."
        )


def _addresses_in(address: Address) -> list[Address]:
    """Return the address, and any IPv4 addresses that it contains."""
    if not isinstance(address, ipaddress.IPv6Address):
        return [address]
    carried: list[Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _TRANSLATED:
        carried.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    inner: list[Address] = [one for one in carried if one is not None]
    # A mapped address is not public by itself; the address that it stands for decides.
    return inner if address.ipv4_mapped or address in _TRANSLATED else [address, *inner]


def _is_public(address: Address) -> bool:
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        # Reading the port validates it.
        if parts.port == 0:
            raise ValueError("port 0")
    except ValueError:
        raise _invalid("is no address that can be read, such as https://example.com/memos.") from None
    return parts


def _invalid(problem: str) -> InvalidInput:
    return InvalidInput(f"The url of a webhook {problem}", detail={"field": "url"})
