"""A sentence is its English string, and can be rendered in another language."""

from __future__ import annotations

import json

from django.utils.translation import override

from memory.policy_values import BY_KEY
from memory.text.translatable import Sentence, translate


def test_a_sentence_is_a_plain_string_to_whoever_takes_it_for_one():
    one = Sentence("%(count)s of %(all)s", count=2, all=Sentence("five"))

    assert one == "2 of five"
    assert json.dumps({"says": one}) == '{"says": "2 of five"}'
    assert translate("any other") == "any other"


def test_its_parts_are_translated_with_it():
    problem = BY_KEY["ttl_days"].problem_of(-1)

    assert problem == "must be a whole number from 0 to 36,500 days."
    with override("zh-hans"):
        assert translate(problem) == "必须是 0 到 36,500 之间的整数（天）。"
        assert problem == "must be a whole number from 0 to 36,500 days."
