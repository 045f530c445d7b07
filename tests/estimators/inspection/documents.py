"""A page as its elements, for tests."""

from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br", "img", "link"}


class Document(HTMLParser):
    """Elements of a page with their attributes and text; fails on tags that do not nest."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements: list[dict[str, Any]] = []
        self._open: list[dict[str, Any]] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names)
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def of_class(self, name):
        return [e for e in self.elements if name in (e.get("class") or "").split()]
