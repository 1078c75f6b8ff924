"""Pictures beside an answer: for want of them no command fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emuq.commands import note
from emuq.errors import MissingExtra


def drawn(*pictures: Callable[[], Any]) -> bool:
    """Draw them; where matplotlib is not installed, say so in one line, and that is all."""
    try:
        for draw in pictures:
            draw()
    except MissingExtra as error:
        note(f"no picture was drawn: {error}")
        return False
    return True
