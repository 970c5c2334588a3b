"""Door 2: encodings that turn queries and keys."""
