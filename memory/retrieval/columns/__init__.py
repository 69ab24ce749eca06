"""The index of a namespace as columns in the memory of this process: what the SQL arms find, by array arithmetic.

`store` keeps them current, `candidates` searches them. Where there are none, or a question is narrowed, the SQL arms
answer.
"""
