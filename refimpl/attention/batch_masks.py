"""Which key a query may see, by what the batch holds: padding and packed documents. Integer facts, True keeps."""

from __future__ import annotations

from jaxtyping import Bool, Int

from ..errors import require, require_integer
from ..namespace import Array, array_namespace, device
from ..signatures import checked


@checked
def padding_mask(lengths: Int[Array, "*B"], *, S: int, left_padded: bool = False) -> Bool[Array, "*B 1 1 S"]:
    """Return True where key j is a token and not padding.

        keep[b, 0, 0, j] = j < lengths[b]
        keep[b, 0, 0, j] = j >= S - lengths[b]        with left_padded

    It hides keys, not queries: the rows of padding still attend, and what they give is for the loss to leave out. Under
    a causal mask, left padding leaves its own rows without any key.

    Source: Vaswani et al. 2017, section 3.2.3, for its use. Right padding: JAX's key_value_seq_lengths, ONNX's
    nonpad_kv_seqlen. PyTorch's key_padding_mask is its negation.
    Raises ValueError for S below 1, or lengths that are no integers or outside 0 .. S.
    """
    xp = array_namespace(lengths)
    require_integer("S", S, 1)
    j = xp.arange(S, device=device(lengths))
    for length in (int(xp.min(lengths)), int(xp.max(lengths))) if lengths.size else ():
        require(0 <= length <= S, "lengths", length, f"0 .. {S}")
    known = lengths[..., None, None, None]  # (*B, 1, 1, 1)
    return j >= S - known if left_padded else j < known


@checked
def document_mask(
    q_documents: Int[Array, "*B T"], k_documents: Int[Array, "*B S"] | None = None
) -> Bool[Array, "*B 1 T S"]:
    """Return True where query and key belong to the same document.

        keep[b, 0, i, j] = q_documents[b, i] == k_documents[b, j]

    Documents packed into one sequence must not read each other; positions start again in each of them as well. Not
    causal: join it with `causal_mask` by &, which is exact here, since both number the packed sequence.

    q_documents, k_documents: any integers, one a token; keys default to the queries' own. From lengths or offsets:
    `conversions.documents_of_lengths`.
    Source: Krell et al. 2021, section 3.2.4; FlashAttention's cu_seqlens, flax's segment ids.
    Raises ValueError for documents that are no integers.
    """
    k_documents = q_documents if k_documents is None else k_documents
    return (q_documents[..., :, None] == k_documents[..., None, :])[..., None, :, :]
