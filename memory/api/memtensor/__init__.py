"""MemTensor's MemOS API: the `/product/…` routes, and the older classic ones."""
