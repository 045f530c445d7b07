"""Similarity of sentences by their contexts: what the papers call Origin."""
