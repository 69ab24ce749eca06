from __future__ import annotations

import pytest

from memory.gate.contradictions import find_contradictions


@pytest.mark.parametrize(
    "text",
    [
        "Always send the report by mail. Never send the report by mail.",
        "Don't share the draft budget. You must share the draft budget.",
        "Reply only in French. Always answer in English.",
        "总是使用表格展示数据。不要使用表格展示数据。",
        "只能用中文回答。必须用英文回答。",
    ],
)
def test_orders_that_exclude_each_other(text):
    [reason] = find_contradictions(text)

    assert reason.rule == "contradiction"
    assert len(reason.spans) == 2
    assert "".join(text[start:end] for start, end in reason.spans) == text


@pytest.mark.parametrize(
    "text",
    [
        "Always send the report by mail. Actually, never send the report by mail.",
        "Always send the report by mail. Never send the invoice by fax.",
        "Never lock the back door when I'm out. Always lock the back door at night.",
        "Always call. Never call.",
        "I always send the report, he never sends the report.",
        "总是使用表格展示数据。算了，不要使用表格展示数据。",
        "Must I? Don't ask! Never mind. Only a joke.",
    ],
)
def test_corrections_conditions_and_other_subjects_do_not(text):
    assert find_contradictions(text) == []
