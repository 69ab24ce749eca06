"""Reads preferences in people's statements and choices, stores them as memories, and lists them by person."""
