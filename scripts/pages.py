"""Parts of pages that scripts make from records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scripts.records import ROOT
from trifact.durable import write_text

END = "<!-- end -->\n"


def table(
    head: Iterable[str], rows: Iterable[Iterable[object]], *, text: int | None = None
) -> list[str]:
    """The lines of a table of Markdown, with the empty one after it.

    Columns after the first `text` are numbers, which stand to the right.
    """
    heads = list(head)
    rule = ["---" if text is None or place < text else "---:" for place in range(len(heads))]
    return [*(f"| {' | '.join(map(str, line))} |" for line in (heads, rule, *rows)), ""]


@dataclass(frozen=True)
class Part:
    """What a page of docs/ has between the comment that names a script and the next end."""

    page: str
    script: str

    @property
    def path(self) -> Path:
        return ROOT / "docs" / self.page

    def around(self, made: str) -> str:
        """The page as it is, with this as its part."""
        begin = f"<!-- made by scripts/{self.script}.py -->\n"
        before, rest = self.path.read_text(encoding="utf-8").split(begin, 1)
        return before + begin + made + END + rest.split(END, 1)[1]

    def write(self, made: str) -> None:
        """Put it into the page."""
        write_text(self.path, self.around(made))
