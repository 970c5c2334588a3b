"""Number formats, and the four precision profiles. Needs the standard library only."""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """A binary floating-point format: the numbers n · 2^e with |n| < 2^precision and e >= min_exponent."""

    name: str
    precision: int  # bits of the significand, the hidden one included
    min_exponent: int  # the least subnormal is 2^min_exponent
    max_exponent: int  # every finite number lies below 2^max_exponent

    @property
    def unit_roundoff(self) -> float:
        """u = 2^-precision, the greatest relative error of one rounding to nearest."""
        return 2.0**-self.precision

    @property
    def least_normal(self) -> float:
        return 2.0 ** (self.min_exponent + self.precision - 1)

    @property
    def max_finite(self) -> float:
        return (2.0**self.precision - 1) * 2.0 ** (self.max_exponent - self.precision)

    @property
    def bits(self) -> int:
        """Bits of storage: the significand's and the exponent's (the hidden bit pays for the sign)."""
        return self.precision + self.max_exponent.bit_length()


_FORMATS = (
    Format("float64", 53, -1074, 1024),
    Format("float32", 24, -149, 128),
    Format("bfloat16", 8, -133, 128),
    Format("float16", 11, -24, 16),
)
FORMATS: dict[str, Format] = {format.name: format for format in _FORMATS}


class Profile(NamedTuple):
    """The format in which a precision stores arrays, and the wide one in which it computes and accumulates."""

    name: str
    storage: Format
    wide: Format

    @property
    def dtype(self) -> str:
        return self.storage.name


_PROFILES = (
    Profile("f64", FORMATS["float64"], FORMATS["float64"]),
    Profile("f32", FORMATS["float32"], FORMATS["float32"]),
    Profile("bf16", FORMATS["bfloat16"], FORMATS["float32"]),
    Profile("f16", FORMATS["float16"], FORMATS["float32"]),
)
PROFILES: dict[str, Profile] = {profile.name: profile for profile in _PROFILES}


def profile_named(name: str) -> Profile:
    """Return a profile; raise ValueError for a name that is none."""
    if name not in PROFILES:
        raise ValueError(f"profile: got {name!r}; allowed: {', '.join(PROFILES)}")
    return PROFILES[name]


def format_named(name: str) -> Format:
    """Return a format; raise ValueError for a name that is none."""
    if name not in FORMATS:
        raise ValueError(f"format: got {name!r}; allowed: {', '.join(FORMATS)}")
    return FORMATS[name]
