"""Shapes as annotations write them, "*B H T D": a letter is one length throughout a call, a star any number of axes."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import refuse, shape_of

MAY_BE_EMPTY = ("T", "P")  # no new token, none cached; so may be axes with a star
Found = list[tuple[str, tuple[int, ...]]]  # letters in their order, one length each, any number for a star


class Lengths:
    """What the letters stand for in one call, and which argument said so."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, ...]] = {}
        self.source: dict[str, str] = {}

    def learn(self, argument: str, found: Found) -> None:
        """Remember letters that are not known yet."""
        for letter, lengths in found:
            self.known.setdefault(letter, lengths)
            self.source.setdefault(letter, argument)

    def require(self, argument: str, shape: tuple[int, ...], letters: Sequence[str]) -> None:
        """Raise ValueError unless a shape fits its letters and what they stand for already; learn the new ones."""
        found = split(shape, letters)
        fits = found is not None and all(self._known(letter, lengths) == lengths for letter, lengths in found)
        if not fits or len(set(found or ())) != len(dict(found or ())):  # a letter that comes twice
            sources = dict.fromkeys(self.source[letter] for letter in letters if letter in self.source)
            allowed = shape_of(number for letter in letters for number in self.known.get(letter, (letter,)))
            refuse(argument, f"shape {shape}", allowed + (f" to fit {', '.join(sources)}" if sources else ""))
        if empty := [letter for letter, lengths in found or () if 0 in lengths and not may_be_empty(letter)]:
            refuse(argument, f"shape {shape}", f"{shape_of(letters)} with {' and '.join(empty)} >= 1")
        self.learn(argument, found or [])

    def _known(self, letter: str, default: tuple[int, ...]) -> tuple[int, ...]:
        return (int(letter),) if letter.isdigit() else self.known.get(letter, default)


def may_be_empty(letter: str) -> bool:
    """Return whether an axis of length 0 has a meaning: nothing comes in, nothing goes out."""
    return letter in MAY_BE_EMPTY or letter.startswith("*")


def split(shape: tuple[int, ...], letters: Sequence[str]) -> Found | None:
    """Deal a shape out to its letters; None where the number of axes does not fit."""
    star = next((i for i, letter in enumerate(letters) if letter.startswith("*")), None)
    spare = len(shape) - len(letters)
    if star is None:
        return None if spare else [(letter, (length,)) for letter, length in zip(letters, shape, strict=True)]
    if spare < -1:
        return None
    end = star + 1 + spare  # of the axes that the star takes
    before = [(letter, (length,)) for letter, length in zip(letters, shape[:star], strict=False)]
    after = [(letter, (length,)) for letter, length in zip(letters[star + 1 :], shape[end:], strict=True)]
    return [*before, (letters[star], tuple(shape[star:end])), *after]
