"""Decks of studies, from dictionaries, by the builder of tests/apps."""

import sys

import harness

sys.path.append(str(harness.ROOT / "tests/apps"))
from support.decks import deck_text, layer  # noqa: E402, F401: the path is set first; studies import these
