"""Tells of what happens: webhooks, their deliveries, and the feed of changes. All of it is read from the audit log."""
