"""A page and the pieces it is made of: sections, cards, figures, tables. All text is escaped.

A page is one file that needs nothing else, in light and in dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

STYLE = Path(__file__).with_name("report.css")


def document(title: str, *parts: str) -> str:
    """A whole page of its parts."""
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def cards(facts: Sequence[tuple[str, str]]) -> str:
    """The few facts to see first: each large, with what it is below."""
    each = (
        f'<div class="card"><b>{escape(fact)}</b><span>{escape(what)}</span></div>'
        for fact, what in facts
    )
    return f'<div class="cards">{"".join(each)}</div>'


def section(title: str, body: str) -> str:
    """A part of the page under its heading."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def figure(title: str, chart: str, *, tall: bool = False) -> str:
    """A chart under its heading; no chart, no figure. A tall one stands beside two others."""
    kind = ' class="tall"' if tall else ""
    return f"<figure{kind}><h3>{escape(title)}</h3>{chart}</figure>" if chart else ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text: int = 1) -> str:
    """A table whose first `text` columns are text, and the others numbers."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} class="text">{_breakable(cell)}</{tag}>' if i < text else
            f"<{tag}>{escape(cell)}</{tag}>"
            for i, cell in enumerate(row)
        )  # fmt: skip

    head = f"<tr>{cells(header, 'th')}</tr>" if any(header) else ""
    lines = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="scroll"><table>{head}{lines}</table></div>'


def side_by_side(*parts: str) -> str:
    """Figures and tables beside each other, as many as the screen has room for."""
    return f'<div class="charts">{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """A paragraph; of nothing it is nothing."""
    return f"<p>{escape(text)}</p>" if text else ""


def _breakable(text: str) -> str:
    """Long names are often paths: they may go on in a new line after a part."""
    return escape(text).replace("/", "/<wbr>")
