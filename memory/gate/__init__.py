"""The gate: what each turn says about itself before it is stored. Pure functions: no models, no I/O."""
