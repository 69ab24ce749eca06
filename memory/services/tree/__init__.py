"""The tree of a namespace: topics of its sessions, kept in step with the memories in the background, and browsed."""
