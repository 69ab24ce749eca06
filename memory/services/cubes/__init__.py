"""Creates, registers, configures and shares cubes, and finds the ones that a caller may read."""
