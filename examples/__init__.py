"""Each file runs from a clone by the command in its first lines."""
