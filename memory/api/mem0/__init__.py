"""mem0's hosted API, and that of its open-source server, for programs that use its clients."""
