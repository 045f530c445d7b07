"""FILM for data larger than memory: sums over row blocks, or a stream of batches."""
