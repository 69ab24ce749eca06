"""Adapters to what makes vectors and writes summaries: one small interface each."""
