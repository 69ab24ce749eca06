"""What runs inside the containers besides MemOS itself."""
