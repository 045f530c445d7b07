"""Progress bars, passed into the mathematics as a plain callable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(verbose: int, title: str) -> Iterator[Callable[[str], None] | None]:
    """Yield a callable that advances a bar and shows a text, or None when not verbose."""
    if not verbose:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=title, unit="step") as bar:

        def advance(text: str) -> None:
            bar.set_postfix_str(text, refresh=False)
            bar.update()

        yield advance
