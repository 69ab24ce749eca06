"""Activation memory: keys and values of a namespace's prefix, kept in files, given to the model that answers."""
