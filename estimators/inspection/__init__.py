"""What a fitted estimator found, to look at: explanations of pairs, and displays on matplotlib.

Public names stand in ``__init__.pyi``, one line per name, and load when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
