"""Programs that run inside the containers besides MemOS itself."""
