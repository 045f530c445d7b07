"""Similarity of sentences: the mathematics, as pure functions and small classes over arrays."""

__version__ = "0.1.0"

__all__ = ["__version__"]
