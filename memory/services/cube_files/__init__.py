"""Writes, signs, checks and loads cubes as files."""
