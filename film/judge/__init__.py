"""Judge pairs of texts of any table without labels: score, kind of difference, and threshold."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
