"""all-MiniLM-L6-v2, a trained BERT: refimpl beside transformers, op by op, within derived float32 tolerances."""
