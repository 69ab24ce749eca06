"""Backups: one consistent file of the database, restored whole or not at all, and what must stay forgotten then."""
