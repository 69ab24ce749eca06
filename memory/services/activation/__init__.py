"""Keeps activation memory: keys and values of a namespace's prefix in files, for the model that answers."""
