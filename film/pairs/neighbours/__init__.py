"""Searches of the corpus for ranks and neighbourhoods of pairs."""
