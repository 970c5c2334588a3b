"""Mistakes in masks."""

from __future__ import annotations

from typing import Any

from ..attention.batch_masks import document_mask, padding_mask
from ..attention.masks import causal_mask, chunked_mask, prefix_mask, window_mask
from ..namespace import Array, array_namespace
from .mistake import Function, Mistake, changed, taking_arguments_of, then


@taking_arguments_of(chunked_mask)
def _sliding(T: int, S: int, *, chunk: int, q_offset: int, left_padding: int = 0, xp: Any, device: Any = None) -> Array:
    return window_mask(T, S, left=chunk - 1, right=0, q_offset=q_offset, xp=xp, device=device)


@taking_arguments_of(chunked_mask)
def _chunk_seen_whole(
    T: int, S: int, *, chunk: int, q_offset: int, left_padding: int = 0, xp: Any, device: Any = None
) -> Array:
    p = xp.arange(T, device=device)[:, None] + q_offset - left_padding
    j = xp.arange(S, device=device)[None, :] - left_padding
    return p // chunk == j // chunk


def _compared(compare: Function) -> Function:
    """Return document_mask with another relation than equality."""

    @taking_arguments_of(document_mask)
    def mutant(q_documents: Array, k_documents: Array | None = None) -> Array:
        k_documents = q_documents if k_documents is None else k_documents
        return compare(q_documents[..., :, None], k_documents[..., None, :])[..., None, :, :]

    return mutant


# fmt: off
MASKS: dict[str, Mistake] = {
    "causal_mask.top_left": Mistake(
        "causal_mask", "OFFSET", "j ≤ i → j ≤ q_offset + i",
        "with a cache, new tokens see the oldest keys only",
        ("onnx#8068",), convention="causal_mask.q_offset",
        forward=changed(causal_mask, q_offset=lambda a: 0)),
    "causal_mask.bottom_right": Mistake(
        "causal_mask", "OFFSET", "j ≤ S − T + i → j ≤ q_offset + i",
        "with more queries than keys, the first see nothing",
        ("flash-attention#1778",), convention="causal_mask.q_offset",
        forward=changed(causal_mask, q_offset=lambda a: a.S - a.T)),
    "causal_mask.strict": Mistake(
        "causal_mask", "MASK", "j < q_offset + i → j ≤ q_offset + i",
        "no token sees itself, the first sees nothing",
        forward=changed(causal_mask, q_offset=lambda a: a.q_offset - 1)),
    "causal_mask.polarity": Mistake(
        "causal_mask", "MASK", "True drops → True keeps",
        "every token sees the future alone", ("pytorch#170415", "LLMs-from-scratch#1061"),
        convention="masks.true_keeps",
        forward=then(causal_mask, lambda keep: ~keep)),
    "window.plus_one": Mistake(
        "window_mask", "MASK", "left + 1 keys in the past → left",
        "W past keys taken for W keys: one too many, a layer", ("transformers#39408",),
        convention="window_mask.inclusive",
        forward=changed(window_mask, left=lambda a: None if a.left is None else a.left + 1)),
    "window.minus_one": Mistake(
        "window_mask", "MASK", "left − 1 keys in the past → left",
        "the width taken for the number of keys: one too few", ("jax#32300",),
        convention="window_mask.inclusive",
        forward=changed(window_mask, left=lambda a: a.left - 1 if a.left else a.left)),
    "window.sides_swapped": Mistake(
        "window_mask", "MASK", "left counted into the future → into the past",
        "a causal window sees nothing but itself and what follows",
        forward=changed(window_mask, left=lambda a: a.right, right=lambda a: a.left)),
    "window.zero_is_off": Mistake(
        "window_mask", "EDGE", "0 is no limit → itself alone",
        "the narrowest window becomes the widest; gpt-oss means it", convention="window_mask.none_is_open",
        forward=changed(window_mask, left=lambda a: a.left or None, right=lambda a: a.right or None)),
    "window.queries_from_zero": Mistake(
        "window_mask", "OFFSET", "i − left → q_offset + i − left",
        "with a cache, the window stays at the start of the text",
        forward=changed(window_mask, q_offset=lambda a: 0)),
    "window.left_ignored": Mistake(
        "window_mask", "MASK", "no limit to the left → q_offset + i − left ≤ j",
        "right until the text is longer than the window",
        forward=changed(window_mask, left=lambda a: None)),
    "window.right_ignored": Mistake(
        "window_mask", "MASK", "no limit to the right → j ≤ q_offset + i + right",
        "a window that is not causal",
        forward=changed(window_mask, right=lambda a: None)),
    "chunked.sliding": Mistake(
        "chunked_mask", "MASK", "the last `chunk` keys → those of the same chunk",
        "right for the last token of a chunk",
        forward=_sliding),
    "chunked.not_causal": Mistake(
        "chunked_mask", "MASK", "the whole chunk → its keys up to the query",
        "a training loss too good to be true",
        forward=_chunk_seen_whole),
    "chunked.queries_from_zero": Mistake(
        "chunked_mask", "OFFSET", "chunk of i → of q_offset + i",
        "right without a cache",
        forward=changed(chunked_mask, q_offset=lambda a: 0)),
    "chunked.padding_counted": Mistake(
        "chunked_mask", "OFFSET", "chunks from index 0 → from the first token that is no padding",
        "a padded prompt is cut elsewhere than the same prompt alone", convention="chunked_mask.left_padding",
        forward=changed(chunked_mask, left_padding=lambda a: 0)),
    "prefix.plus_one": Mistake(
        "prefix_mask", "MASK", "j ≤ prefix → j < prefix",
        "the first token to be predicted is seen",
        forward=changed(prefix_mask, prefix=lambda a: a.prefix + 1)),
    "prefix.causal": Mistake(
        "prefix_mask", "MASK", "j ≤ q_offset + i alone → or j < prefix",
        "the prefix does not read ahead; quality drops, nothing breaks",
        forward=changed(prefix_mask, prefix=lambda a: 0)),
    "prefix.queries_from_zero": Mistake(
        "prefix_mask", "OFFSET", "j ≤ i → j ≤ q_offset + i",
        "with a cache, only the prefix is seen",
        forward=changed(prefix_mask, q_offset=lambda a: 0)),
    "prefix.whole_text": Mistake(
        "prefix_mask", "MASK", "every key → the prefix and the past",
        "a training loss too good to be true",
        forward=changed(prefix_mask, prefix=lambda a: a.S)),
    "padding.other_side": Mistake(
        "padding_mask", "MASK", "padding in front → behind, and the other way round",
        "tokens are hidden and padding is seen; right for a full batch", convention="padding_mask.right",
        forward=changed(padding_mask, left_padded=lambda a: not a.left_padded)),
    "padding.polarity": Mistake(
        "padding_mask", "MASK", "True for padding → True keeps",
        "padding alone is seen; PyTorch's key_padding_mask means it", ("pytorch#170415",),
        convention="masks.true_keeps",
        forward=then(padding_mask, lambda keep: ~keep)),
    "padding.plus_one": Mistake(
        "padding_mask", "MASK", "j ≤ length → j < length",
        "one padding token a sequence is seen",
        forward=changed(padding_mask, lengths=lambda a: a.lengths + array_namespace(a.lengths).astype(
            a.lengths < a.S, a.lengths.dtype))),
    "document.leak": Mistake(
        "document_mask", "MASK", "every document → the query's own",
        "packed documents read each other", ("OLMo-core#591", "nanoVLM#204"),
        forward=_compared(lambda q, k: q == q + 0 * k)),
    "document.earlier_seen": Mistake(
        "document_mask", "MASK", "documents up to the query's → the query's own",
        "right for the first document",
        forward=_compared(lambda q, k: q >= k)),
    "document.polarity": Mistake(
        "document_mask", "MASK", "True for another document → True keeps",
        "each document reads all the others", convention="masks.true_keeps",
        forward=then(document_mask, lambda keep: ~keep)),
}
