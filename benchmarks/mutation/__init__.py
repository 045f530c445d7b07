"""Mutants of `film`'s formulas: the changes, the runs of the tests, and arguments for survivors."""
