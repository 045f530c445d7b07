"""Truncated singular value decomposition: products, the Gram matrix of features, block Krylov."""
