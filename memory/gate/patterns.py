"""Writes long regular expressions over several lines."""

import re


def one_line(pattern: str) -> str:
    """`pattern` without line breaks and what is indented behind them; " | " parts alternatives. Other spaces count."""
    return re.sub(r" *\n *(?:\| )?", lambda gap: "|" if "|" in gap[0] else "", pattern.strip()).replace(" | ", "|")
