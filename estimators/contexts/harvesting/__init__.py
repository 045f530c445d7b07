"""Pairs of sentences across the whole range of similarity, scored and kept on disk."""
