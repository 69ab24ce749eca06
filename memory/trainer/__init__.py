"""Trains a LoRA adapter on a base model of the disk and measures it: a process of its own (`python -m memory.trainer`).

It imports nothing of MemOS and needs what `requirements-train.txt` names, in an environment that may be its own. It
reads a folder, writes into that folder and ends when whoever started it does; it reaches no network.
"""
