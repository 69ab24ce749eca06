"""Adapters to models and word lists: one small interface for each kind."""
