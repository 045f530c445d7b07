"""FILM on more rows than memory holds: from sums over row blocks, or from a stream of batches."""
