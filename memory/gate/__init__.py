"""The gate judges each turn before it is stored. Its functions are pure: no models, no I/O."""
