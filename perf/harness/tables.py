"""Rows of a table in Markdown."""


def row(cells):
    return f"| {' | '.join(map(str, cells))} |"


def head(names):
    """The names of the columns, and the line below them."""
    return f"{row(names)}\n|{'---|' * len(names)}"
