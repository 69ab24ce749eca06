"""all-MiniLM-L6-v2 on ONNX Runtime, and the process that makes its vectors for all others of a machine.

Nothing here imports Django: the process that has the model has little else.
"""
