"""Passes chat completions of other programs on to a language model, with the memories recalled for them."""
