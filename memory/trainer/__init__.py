"""Trains a LoRA adapter on a local base model and measures it, in a separate process (`python -m memory.trainer`).

It imports nothing of MemOS, and needs the packages in `requirements-train.txt`, possibly in a separate environment. It
reads a folder, writes into that folder and ends together with its parent; it doesn't use the network.
"""
