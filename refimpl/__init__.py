"""The golden reference for how a transformer knows where a token is.

Every op is a pair of pure functions on the Array API:

    y, residuals = X_forward(arrays..., *, options)
    gradients = X_backward(dy, residuals)          in the order of the inputs

An encoding enters a transformer through one of three doors, and the folders are the doors:

    embeddings/   added to the embeddings      x = tokens + encoding
    rotary/       turns queries and keys       q = rotate(q, angles)
    bias/         joins the logits             attention(..., bias=b)
    attention/    where the doors open

Shapes, everywhere:

    B  leading axes      H  query heads              D  head width       C  model width
    T  queries           G  key and value heads      E  value width      V  vocabulary
    S  keys              N  rows of a table
"""

from .attention.attention import Attention as Attention
from .attention.attention import attention_backward as attention_backward
from .attention.attention import attention_forward as attention_forward
from .attention.linear import linear_backward as linear_backward
from .attention.linear import linear_forward as linear_forward
from .attention.masks import causal_mask as causal_mask
from .attention.multi_head import multi_head_attention_backward as multi_head_attention_backward
from .attention.multi_head import multi_head_attention_forward as multi_head_attention_forward
from .attention.softmax import softmax_backward as softmax_backward
from .attention.softmax import softmax_forward as softmax_forward
from .bias.alibi import alibi_backward as alibi_backward
from .bias.alibi import alibi_forward as alibi_forward
from .bias.alibi import alibi_slopes as alibi_slopes
from .embeddings.dropout import dropout_backward as dropout_backward
from .embeddings.dropout import dropout_forward as dropout_forward
from .embeddings.learned import learned_position_backward as learned_position_backward
from .embeddings.learned import learned_position_forward as learned_position_forward
from .embeddings.sinusoidal import sinusoidal_backward as sinusoidal_backward
from .embeddings.sinusoidal import sinusoidal_forward as sinusoidal_forward
from .embeddings.token import token_embedding_backward as token_embedding_backward
from .embeddings.token import token_embedding_forward as token_embedding_forward
from .embeddings.transformer import transformer_embedding_backward as transformer_embedding_backward
from .embeddings.transformer import transformer_embedding_forward as transformer_embedding_forward
from .ops import OPS as OPS
from .rotary.embedding import rotary_embedding_backward as rotary_embedding_backward
from .rotary.embedding import rotary_embedding_forward as rotary_embedding_forward
from .rotary.rope import rope_backward as rope_backward
from .rotary.rope import rope_cos_sin as rope_cos_sin
from .rotary.rope import rope_forward as rope_forward

__version__ = "0.1.0"
