"""Keeps the tree of a namespace, which groups its sessions into topics, in step with its memories, and browses it."""
