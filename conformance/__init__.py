"""Real frameworks against the fixtures: one adapter file each."""
