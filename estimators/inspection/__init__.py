"""Explain pairs, draw displays and write HTML pages from fitted estimators."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
