"""Triplets of texts: a network over frozen token vectors, its examples and its folder."""
