"""Door 3: encodings that join the logits."""
