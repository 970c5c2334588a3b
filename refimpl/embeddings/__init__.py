"""Door 1: encodings that are added to the embeddings."""
