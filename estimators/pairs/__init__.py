"""Classify pairs: the stack, the Pairwise kNN rule, features of pairs, and pairs to label."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
