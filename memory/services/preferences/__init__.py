"""Preferences: read in what people say of themselves, kept as memories that rest on it, and listed by person."""
