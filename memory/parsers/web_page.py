"""Converts HTML to Markdown with headings, paragraphs, lists, tables and code, and nothing hidden or executable."""

from __future__ import annotations

from html.parser import HTMLParser

from memory.parsers.plain_text import write_table

_HIDDEN = {"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select", "textarea"}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
    "footer", "form", "header", "html", "main", "nav", "ol", "p", "section", "summary", "ul",
}  # fmt: skip
# Their end tags are optional: the next such element or the end of the parent ends them.
_ENDS_ITSELF = {"p", "li", "dt", "dd", "td", "th", "tr"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def read_html(text: str) -> tuple[str, str, int]:
    """Return the page as Markdown, its title, and the number of its tables."""
    reader = _PageReader()
    reader.feed(text)
    reader.close()
    return reader.finish()


class _PageReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = []
        self._words: list[str] = []
        self._prefix = ""
        self._hidden: list[str] = []
        self._title: list[str] = []
        self._in_title = False
        self._is_code = False
        # Rows of the open table, None outside; nested tables are part of its cells.
        self._rows: list[list[str]] | None = None
        self._depth = 0
        self._tables = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden == [tag] and tag in _ENDS_ITSELF:
            self._hidden = []
        if self._hidden or tag in _HIDDEN or _is_hidden(dict(attrs)):
            if tag not in _VOID:
                self._hidden.append(tag)
        elif tag == "title":
            self._in_title = not self._title
        elif tag == "table":
            self._depth += 1
            if self._depth == 1:
                self._end_block()
                self._rows = []
        elif self._rows is not None:
            self._start_in_table(tag)
        elif tag == "br":
            self._words.append("\n" if self._is_code else " ")
        elif tag in _HEADINGS or tag in _BLOCKS or tag in ("li", "pre"):
            self._end_block()
            self._prefix = "#" * _HEADINGS[tag] + " " if tag in _HEADINGS else "- " if tag == "li" else ""
            self._is_code = tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            # A missing end tag hides no more than the parent element.
            if tag in self._hidden:
                while self._hidden.pop() != tag:
                    pass
            elif self._hidden[0] in _ENDS_ITSELF:
                self._hidden = []
        elif tag == "title":
            self._in_title = False
        elif tag == "table":
            if self._depth == 1:
                self._end_table()
            self._depth = max(0, self._depth - 1)
        elif self._rows is None and (tag in _HEADINGS or tag in _BLOCKS or tag in ("li", "pre")):
            self._end_block()

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._in_title:
            self._title.append(data)
        elif self._rows is None:
            self._words.append(data)
        elif self._rows and self._rows[-1]:
            self._rows[-1][-1] += data

    def finish(self) -> tuple[str, str, int]:
        """Return the Markdown, the title and the number of tables."""
        if self._rows is not None:
            self._end_table()
        self._end_block()
        return "\n\n".join(self._blocks), " ".join("".join(self._title).split()), self._tables

    def _start_in_table(self, tag: str) -> None:
        assert self._rows is not None
        if self._depth == 1 and tag == "tr":
            self._rows.append([])
        elif self._depth == 1 and tag in ("td", "th"):
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append("")
        elif self._rows and self._rows[-1]:
            self._rows[-1][-1] += " "

    def _end_table(self) -> None:
        rows = [row for row in self._rows or [] if any(cell.strip() for cell in row)]
        self._rows = None
        if rows:
            self._tables += 1
            self._blocks.append("\n".join(write_table(rows)))

    def _end_block(self) -> None:
        words, code = "".join(self._words), self._is_code
        self._words, self._is_code = [], False
        prefix, self._prefix = self._prefix, ""
        if code and words.strip():
            self._blocks.append("\n".join(f"    {line}" for line in words.strip("\n").split("\n")))
        elif said := " ".join(words.split()):
            self._blocks.append(prefix + said)


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    style = "".join((attributes.get("style") or "").lower().split())
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or "display:none" in style
        or "visibility:hidden" in style
    )
