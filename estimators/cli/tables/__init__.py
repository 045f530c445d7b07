"""Read and write tables: CSV, JSON, Excel and Parquet, in common encodings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
