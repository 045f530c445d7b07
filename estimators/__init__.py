"""Scikit-learn estimators for sentence similarity and duplicate detection.

Public names are listed in ``__init__.pyi``, one line per name, and load when first used: importing
the package loads neither scikit-learn nor torch.
"""

import lazy_loader

from film import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
