"""Find duplicates in a collection of texts, and in rows added to it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
