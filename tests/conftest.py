"""Checks every shape in every signature of the ops while the tests run; must come before refimpl is imported."""

import os

from jaxtyping import install_import_hook

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

install_import_hook(
    ["refimpl.angles", "refimpl.embeddings", "refimpl.rotary", "refimpl.bias", "refimpl.attention"], "beartype.beartype"
)
