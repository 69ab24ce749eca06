"""Chat completions of other programs, passed on to a language model with what is remembered for them."""
