"""A search that is ended early leaves its connection unchanged."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import override_settings

from memory.errors import SearchTimedOut
from memory.models.sql import fetch
from memory.postgresql.time_limit import limit_statements

QUICK = "SELECT %(n)s::int"
SLOW = "SELECT pg_sleep(5), %(n)s::int"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("before", range(8))
def test_a_search_that_was_ended_does_not_spoil_the_next(before):
    connection.close()
    for number in range(before):
        with limit_statements():
            assert fetch(QUICK, {"n": number}, prepared=True) == [(number,)]

    with override_settings(MEMOS_SEARCH_TIMEOUT_MS=50), pytest.raises(SearchTimedOut), limit_statements():
        fetch(SLOW, {"n": 1}, prepared=True)

    for number in range(8):
        with limit_statements():
            assert fetch(QUICK, {"n": number}, prepared=True) == [(number,)]
    assert connection.cursor().execute("SHOW statement_timeout").fetchone() == ("0",)
