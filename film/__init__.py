"""Similarity of sentences: the mathematics, as pure functions and small classes over arrays."""
