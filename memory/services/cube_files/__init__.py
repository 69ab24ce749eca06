"""Cubes as files: written, signed, looked through and loaded."""
