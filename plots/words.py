"""Vectors of words for the figures that need a sentence: counted from a short text, with no training and no download.

The text was written for this purpose, so that words of one kind stand in like places. Its table is no model's.
"""

from __future__ import annotations

import numpy as np

from refimpl import rms_norm_forward, token_embedding_forward

TEXT = """
the dog bit the man . the man saw the dog . the cat saw the dog . the dog saw the cat . a man fed the dog .
a woman fed the cat . the woman saw the man . the man saw a woman . the cat bit the woman . the dog slept .
the cat slept . the man slept . the woman slept . the child fed the cat . the child saw a dog . a dog bit the child .
the dog ran to the river . the cat ran to the house . the child ran to the woman . the man went to the river .
the woman went to the house . the child went to the river . the river was cold . the house was old . the man was old .
the dog was old . the cat was cold . the child was cold . the dog slept in the house . the cat slept in the house .
the man slept near the river . the woman sat near the river . the child sat in the house . the cat sat near the dog .
the dog sat near the man . the old man fed the old dog . the cold child went to the house . a cat saw the river .
"""
WORDS = TEXT.split()
VOCABULARY = tuple(dict.fromkeys(WORDS))  # in the order in which they come
C = 16
REACH = 2  # words to each side that count as neighbours


def table() -> np.ndarray:
    """Return one vector a word, (V, C), each of length √C.

    positive pointwise mutual information of neighbours, its C largest singular vectors (Levy and Goldberg 2014)
    """
    at = ids(TEXT)
    counts = np.zeros((len(VOCABULARY), len(VOCABULARY)))
    for step in range(1, REACH + 1):
        np.add.at(counts, (at[step:], at[:-step]), 1.0)
        np.add.at(counts, (at[:-step], at[step:]), 1.0)
    share = counts.sum(0) / counts.sum()
    information = np.log(np.maximum(counts / counts.sum() / (share * share[:, None]), 1.0))
    u, s, _ = np.linalg.svd(information)
    rows = u[:, :C] * np.sqrt(s[:C])
    largest = rows[np.abs(rows).argmax(0), np.arange(C)]
    return rms_norm_forward(rows * np.sign(largest))[0]  # a singular vector's sign is free


def ids(sentence: str) -> np.ndarray:
    """Return the row of every word."""
    return np.array([VOCABULARY.index(word) for word in sentence.split()])


def vectors(sentence: str) -> np.ndarray:
    """Return the vector of every word, (T, C)."""
    return token_embedding_forward(ids(sentence), table())[0]
