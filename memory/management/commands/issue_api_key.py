from __future__ import annotations

import uuid
from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.enums import AccessScope, BudgetPeriod
from memory.errors import MemosError
from memory.governance.budget import Budget
from memory.management import arguments
from memory.services.tenancy.keys import issue_key
from memory.services.tenancy.users import find_user
from memory.types import system_access

ACTOR = "command:issue_api_key"


class Command(BaseCommand):
    help = "Makes an API key. The last line of the output is the key alone; it cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="who or what the key is for")
        reach = parser.add_mutually_exclusive_group()
        reach.add_argument(
            "--namespace",
            dest="namespaces",
            action="append",
            type=arguments.name,
            default=None,
            help="what the key reaches; made if it is new; may be repeated",
        )
        reach.add_argument(
            "--all-namespaces", action="store_true", help="the key reaches every namespace, later ones too"
        )
        parser.add_argument(
            "--default-namespace",
            type=arguments.name,
            default=None,
            help="that of requests that name none (default: the only --namespace; `default` with --all-namespaces)",
        )
        parser.add_argument(
            "--scope",
            dest="scopes",
            nargs="+",
            action="extend",
            choices=AccessScope.values,
            default=None,
            help="what the key may do (default: read write)",
        )
        parser.add_argument("--expires-days", type=arguments.whole_number(1, 36_500), help="days until it expires")
        parser.add_argument(
            "--requests-per-minute",
            type=arguments.whole_number(0),
            help="its own limit; 0 is none (default: the server's)",
        )
        parser.add_argument(
            "--user", type=uuid.UUID, help="id of the user whose key it is: it reaches what is shared with them as well"
        )
        budget = parser.add_argument_group("budget", "what calls of models for the key may cost; 0 is no limit")
        budget.add_argument(
            "--budget-period", choices=BudgetPeriod.values, default=BudgetPeriod.MONTH, help="UTC (default: month)"
        )
        for name, kind in (("usd", arguments.amount), ("tokens", arguments.whole_number(0))):
            budget.add_argument(f"--budget-soft-{name}", type=kind, default=0, help=f"{name} from which answers warn")
            budget.add_argument(
                f"--budget-hard-{name}", type=kind, default=0, help=f"{name} beyond which no model is called"
            )

    def handle(
        self,
        *,
        name: str,
        namespaces: list[str] | None,
        all_namespaces: bool,
        default_namespace: str | None,
        scopes: list[str] | None,
        expires_days: int | None,
        requests_per_minute: int | None,
        user: uuid.UUID | None,
        **options: Any,
    ) -> None:
        if not namespaces and not all_namespaces:
            raise CommandError(
                "Say what the key may reach: --namespace NAME (may be repeated), or --all-namespaces for every one."
            )
        now = timezone.now()
        try:
            key, token = issue_key(
                name=name,
                scopes=scopes or [AccessScope.READ.value, AccessScope.WRITE.value],
                namespace_names=namespaces or [],
                all_namespaces=all_namespaces,
                default_namespace=default_namespace or "",
                expires_at=now + timedelta(days=expires_days) if expires_days else None,
                requests_per_minute=requests_per_minute,
                budget=_budget(options),
                owner=find_user(system_access(ACTOR), user_id=user) if user else None,
                actor=ACTOR,
                now=now,
            )
        except MemosError as error:
            raise CommandError(error.message) from error
        reach = "every namespace" if all_namespaces else ", ".join(dict.fromkeys(namespaces or []))
        until = f"until {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else "until it is revoked"
        self.stdout.write(f"{key.name} may {' and '.join(key.scopes)} in {reach}, {until}.")
        if key.default_namespace:
            self.stdout.write(f"A request that names no namespace gets {key.default_namespace!r}.")
        self.stdout.write("Send it as `Authorization: Bearer <key>`. It is shown this once and stored nowhere:")
        self.stdout.write(token)


def _budget(options: Mapping[str, Any]) -> Budget:
    return Budget(
        period=BudgetPeriod(options["budget_period"]),
        soft_usd=Decimal(options["budget_soft_usd"]),
        hard_usd=Decimal(options["budget_hard_usd"]),
        soft_tokens=options["budget_soft_tokens"],
        hard_tokens=options["budget_hard_tokens"],
    )
