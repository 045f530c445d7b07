"""List the links of built pages that lead nowhere: ``python docs/dead_links.py out/docs``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

REFERENCES = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(HTMLParser):
    """What a page can be linked at, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an id and a reference."""
        found = {name: value for name, value in attrs if value}
        self.ids |= {found["id"]} if "id" in found else set()
        reference = found.get(REFERENCES.get(tag, ""))
        self.links += [reference] if reference else []


def dead_links(folder: Path) -> list[str]:
    """Links to files and places that are not there, and files that come over the network."""
    files = sorted(folder.resolve().rglob("*.html"))
    pages = {file: Page(file.read_text("utf-8")) for file in files}
    dead = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                # A page may lead elsewhere, and needs nothing from there to be shown.
                if parts.path.endswith((".js", ".css")):
                    dead.append(f"{file.name}: {link} comes over the network")
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            known = pages[target].ids if target in pages else {unquote(parts.fragment)}
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in known):
                dead.append(f"{file.name}: {link}")
    return dead


if __name__ == "__main__":
    found = dead_links(Path(sys.argv[1]))
    sys.exit("\n".join(found) or 0)
