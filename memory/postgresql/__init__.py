"""Django's backend for PostgreSQL with row-level security: it sends the namespaces that statements may reach."""
