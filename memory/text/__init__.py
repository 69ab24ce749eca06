"""Pure text functions: no models, no I/O."""
