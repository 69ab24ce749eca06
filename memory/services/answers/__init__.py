"""Answers questions in the words of the memories, each cited."""
