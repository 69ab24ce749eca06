from __future__ import annotations

from django.core.management import call_command


def test_migrations_go_back_and_forth(transactional_db):
    call_command("migrate", "memory", "0001", verbosity=0)
    call_command("migrate", verbosity=0)
