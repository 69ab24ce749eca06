"""Data sets to train models on, made of memories, and the adapters that were trained on them."""
