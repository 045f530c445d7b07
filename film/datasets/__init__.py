"""Sentence pairs read from public files or made by grammar, and results written whole."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
