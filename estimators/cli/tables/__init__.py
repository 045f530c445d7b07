"""Tables that people bring: CSV, JSON, Excel and Parquet, in the encodings of their programs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
