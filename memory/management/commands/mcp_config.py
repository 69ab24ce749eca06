from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.enums import AccessScope
from memory.errors import MemosError
from memory.management import arguments
from memory.management.mcp_clients import CLIENTS
from memory.services.tenancy.keys import issue_key


class Command(BaseCommand):
    help = "Prints what an MCP client must be told to use this server's memory, with a fresh API key in it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("client", choices=tuple(CLIENTS), help="which program")
        parser.add_argument(
            "--namespace", type=arguments.name, default="default", help="whose memory; made if it is new (%(default)s)"
        )
        parser.add_argument(
            "--read-only", action="store_true", help="the key may search and read, and neither add nor change"
        )
        parser.add_argument("--url", help="address of /mcp as the program reaches it (default: the running server's)")

    def handle(self, *, client: str, namespace: str, read_only: bool, url: str | None, **options: Any) -> None:
        address = url or f"{settings.MEMOS_ADDRESS}/mcp"
        if not _is_plain(address):
            raise CommandError(f"--url: {address!r} is no address such as https://memos.example.com/mcp.")
        scopes = [AccessScope.READ.value] if read_only else [AccessScope.READ.value, AccessScope.WRITE.value]
        chosen = CLIENTS[client]
        try:
            _, key = issue_key(
                name=f"{chosen.title} (MCP)",
                scopes=scopes,
                namespace_names=[namespace],
                actor="command:mcp_config",
                now=timezone.now(),
            )
        except MemosError as error:
            raise CommandError(error.message) from error
        self.stderr.write(
            f"{chosen.place}\nThe key in it may {' and '.join(scopes)} in {namespace}. It is shown this once and "
            "stored nowhere.\n\n",
            str,
        )
        self.stdout.write(chosen.lines(address, key))


def _is_plain(address: str) -> bool:
    """Return whether the address is an HTTP URL that needs no quoting in a shell or in JSON."""
    if any(character in address for character in "\"'\\`$ \n") or not address.isprintable():
        return False
    try:
        place = urlsplit(address)
    except ValueError:
        return False
    return place.scheme in ("http", "https") and bool(place.hostname)
