"""Cubes: made, registered, configured and shared; and which of them a caller may read."""
