"""Webhooks must not point into the server's own network, however the address is written or resolved."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from memory.errors import InvalidInput
from memory.services.webhooks import addresses
from memory.services.webhooks.addresses import AddressRefused, check_url, resolve
from memory.services.webhooks.http import post
from tests.services.webhooks.receiver import receiving

PRIVATE = [
    "127.0.0.1",
    "127.8.9.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.8",
    "192.88.99.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:7f00:1::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "ff02::1",
    "2001:db8::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(InvalidInput, match="not public"):
        check_url(f"https://{host}/hook")


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"]
)
def test_public_ones_are_not(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    target = check_url(f"https://{host}:8443/hook?a=b")
    assert (target.host, target.port, target.path) == (address, 8443, "/hook?a=b")
    assert target.authority == f"{host}:8443"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/hook",
        "ftp://example.com/",
        "http://example.com/",
        "https://",
        "https:///hook",
        "https://user:pass@example.com/",
        "https://@example.com/",
        "https://example.com/#there",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://example.com:port/",
        "https://[::1/",
        "https://exämple.com/",
        "https://example.com/a b",
        "https://example.com/\r\nX-Other: 1",
        "https://example.com/" + "a" * 2000,
    ],
)
def test_what_is_no_address_of_a_webhook(url: str) -> None:
    with pytest.raises(InvalidInput):
        check_url(url)


def answer_with(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Have names resolve to one list of addresses after the other, as a hostile server does; return the look-ups."""
    asked: list[str] = []
    usual = socket.getaddrinfo

    def resolved(host: str, port: int, *more: Any, **options: Any) -> list[Any]:
        if host[0].isdigit():
            return usual(host, port, *more, **options)
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolved)
    return asked


def test_a_name_that_resolves_to_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    target = check_url("https://rebind.example/hook")
    for found in (["10.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["169.254.169.254"]):
        answer_with(monkeypatch, found)
        with pytest.raises(AddressRefused, match=r"rebind\.example"):
            resolve(target)
        reply = post(target, headers={}, body=b"{}", seconds=1)
        assert reply.status == 0
        assert "not public" in reply.error


def test_names_of_this_machine_are_refused() -> None:
    with pytest.raises(AddressRefused):
        resolve(check_url("https://localhost/hook"))


def test_odd_ways_to_write_loopback_are_refused() -> None:
    """These strings are IPv4 addresses for the system's resolver."""
    for host in ("127.1", "2130706433", "0x7f000001", "0177.0.0.1"):
        with pytest.raises((AddressRefused, OSError)):
            resolve(check_url(f"https://{host}/hook"))


def test_the_connection_goes_to_what_was_judged(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """The name is looked up once, since it could give another answer the second time."""
    settings.MEMOS_WEBHOOK_PRIVATE = True
    with receiving() as receiver:
        asked = answer_with(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
        reply = post(check_url(receiver.url(host="rebind.example")), headers={}, body=b"{}", seconds=5)

    assert asked == ["rebind.example"]
    assert reply.status == 204
    assert receiver.received[0].headers["host"].startswith("rebind.example:")
