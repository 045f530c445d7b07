"""FILM: a low-rank metric learned from triplets on the Stiefel manifold."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
