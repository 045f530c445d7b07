"""Similarity from contexts: two sentences are similar if they fit the same contexts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
