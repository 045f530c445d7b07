# Types of transformers are not read: binding its hundreds of models takes half of pyright's time.
from typing import Any

def __getattr__(name: str) -> Any: ...
