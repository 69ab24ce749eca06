from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command


def test_a_cluster_without_workers_is_refused_and_says_what_to_do(settings):
    settings.MEMOS_WEBHOOK_WORKERS = 0
    with pytest.raises(CommandError, match="--scale worker-webhooks=0"):
        call_command("qcluster", "--name", "webhooks")
