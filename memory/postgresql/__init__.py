"""Django's backend for PostgreSQL, which tells the server whose rows may be touched; its policies refuse the rest."""
