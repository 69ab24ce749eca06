"""Writes long regular expressions over several lines."""

import re


def one_line(pattern: str) -> str:
    """Remove line breaks with the indentation after them from `pattern`; " | " separates alternatives."""
    return re.sub(r" *\n *(?:\| )?", lambda gap: "|" if "|" in gap[0] else "", pattern.strip()).replace(" | ", "|")
