"""The APIs of mem0's hosted service and of its open-source server, for programs that use mem0's clients."""
