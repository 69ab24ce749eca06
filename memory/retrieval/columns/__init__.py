"""The index of a namespace as columns in this process's memory, which find the same as the SQL retrievers.

`store` keeps them current, `candidates` searches them. SQL answers if a namespace has no columns here, and for
questions with a predicate.
"""
