"""Notifies clients of events by webhooks, their deliveries, and the feed of changes, all of which read the audit
log."""
