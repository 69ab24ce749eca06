"""MemTensor's MemOS API, for programs that speak it: `/product/…`, and the classic routes before it."""
