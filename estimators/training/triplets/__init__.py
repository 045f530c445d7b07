"""Triplet networks over frozen token vectors: training data, networks and files."""
