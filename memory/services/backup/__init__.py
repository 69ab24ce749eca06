"""Makes consistent backups of the database, restores them completely or not at all, and repeats later erasures."""
