"""Searches over the corpus under the ranks and neighbourhoods of pairs."""
