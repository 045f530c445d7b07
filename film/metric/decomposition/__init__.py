"""Truncated singular value decomposition by block Krylov on the Gram matrix of features."""
