"""Makes data sets from memories to train models on, and manages the adapters that were trained on them."""
