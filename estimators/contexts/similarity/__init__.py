"""Similarity of sentences by their contexts, called Origin in the paper."""
