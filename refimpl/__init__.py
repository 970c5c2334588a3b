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
from .attention.batch_masks import document_mask as document_mask
from .attention.batch_masks import padding_mask as padding_mask
from .attention.blocked import blocked_attention_backward as blocked_attention_backward
from .attention.blocked import blocked_attention_forward as blocked_attention_forward
from .attention.decode import Decoded as Decoded
from .attention.decode import attention_decode_backward as attention_decode_backward
from .attention.decode import attention_decode_forward as attention_decode_forward
from .attention.l2_qk_norm import l2_qk_norm_backward as l2_qk_norm_backward
from .attention.l2_qk_norm import l2_qk_norm_forward as l2_qk_norm_forward
from .attention.linear import linear_backward as linear_backward
from .attention.linear import linear_forward as linear_forward
from .attention.masks import causal_mask as causal_mask
from .attention.masks import chunked_mask as chunked_mask
from .attention.masks import prefix_mask as prefix_mask
from .attention.masks import window_mask as window_mask
from .attention.merge import merge_blocks_backward as merge_blocks_backward
from .attention.merge import merge_blocks_forward as merge_blocks_forward
from .attention.mla import mla_attention_backward as mla_attention_backward
from .attention.mla import mla_attention_forward as mla_attention_forward
from .attention.multi_head import multi_head_attention_backward as multi_head_attention_backward
from .attention.multi_head import multi_head_attention_forward as multi_head_attention_forward
from .attention.rms_qk_norm import rms_qk_norm_backward as rms_qk_norm_backward
from .attention.rms_qk_norm import rms_qk_norm_forward as rms_qk_norm_forward
from .attention.softcap import softcap_backward as softcap_backward
from .attention.softcap import softcap_forward as softcap_forward
from .attention.softmax import softmax_backward as softmax_backward
from .attention.softmax import softmax_forward as softmax_forward
from .attention.softmax_sink import softmax_sink_backward as softmax_sink_backward
from .attention.softmax_sink import softmax_sink_forward as softmax_sink_forward
from .bias.alibi import alibi_backward as alibi_backward
from .bias.alibi import alibi_forward as alibi_forward
from .bias.alibi import alibi_slopes as alibi_slopes
from .bias.cope import cope_backward as cope_backward
from .bias.cope import cope_forward as cope_forward
from .bias.deberta import deberta_bias_backward as deberta_bias_backward
from .bias.deberta import deberta_bias_forward as deberta_bias_forward
from .bias.decomposed import decomposed_2d_bias_backward as decomposed_2d_bias_backward
from .bias.decomposed import decomposed_2d_bias_forward as decomposed_2d_bias_forward
from .bias.fire import fire_backward as fire_backward
from .bias.fire import fire_forward as fire_forward
from .bias.fox import fox_backward as fox_backward
from .bias.fox import fox_forward as fox_forward
from .bias.kerple import kerple_log_backward as kerple_log_backward
from .bias.kerple import kerple_log_forward as kerple_log_forward
from .bias.kerple import kerple_power_backward as kerple_power_backward
from .bias.kerple import kerple_power_forward as kerple_power_forward
from .bias.sandwich import sandwich as sandwich
from .bias.shaw_keys import shaw_keys_backward as shaw_keys_backward
from .bias.shaw_keys import shaw_keys_forward as shaw_keys_forward
from .bias.shaw_values import shaw_values_backward as shaw_values_backward
from .bias.shaw_values import shaw_values_forward as shaw_values_forward
from .bias.swin import swin_bias_backward as swin_bias_backward
from .bias.swin import swin_bias_forward as swin_bias_forward
from .bias.swin_v2 import swin_v2_bias_backward as swin_v2_bias_backward
from .bias.swin_v2 import swin_v2_bias_forward as swin_v2_bias_forward
from .bias.t5 import t5_bias_backward as t5_bias_backward
from .bias.t5 import t5_bias_forward as t5_bias_forward
from .bias.t5 import t5_buckets as t5_buckets
from .bias.transformer_xl import transformer_xl_bias_backward as transformer_xl_bias_backward
from .bias.transformer_xl import transformer_xl_bias_forward as transformer_xl_bias_forward
from .embeddings.bert import bert_embedding_backward as bert_embedding_backward
from .embeddings.bert import bert_embedding_forward as bert_embedding_forward
from .embeddings.cape import cape_backward as cape_backward
from .embeddings.cape import cape_forward as cape_forward
from .embeddings.dropout import dropout_backward as dropout_backward
from .embeddings.dropout import dropout_forward as dropout_forward
from .embeddings.interpolate import interpolate_positions_backward as interpolate_positions_backward
from .embeddings.interpolate import interpolate_positions_forward as interpolate_positions_forward
from .embeddings.layer_norm import layer_norm_backward as layer_norm_backward
from .embeddings.layer_norm import layer_norm_forward as layer_norm_forward
from .embeddings.learned import learned_position_backward as learned_position_backward
from .embeddings.learned import learned_position_forward as learned_position_forward
from .embeddings.position_rules import positions_from_offset as positions_from_offset
from .embeddings.position_rules import positions_from_padding as positions_from_padding
from .embeddings.position_rules import positions_in_documents as positions_in_documents
from .embeddings.relative_shift import relative_shift_matrix as relative_shift_matrix
from .embeddings.renorm import renorm_table as renorm_table
from .embeddings.rms_norm import rms_norm_backward as rms_norm_backward
from .embeddings.rms_norm import rms_norm_forward as rms_norm_forward
from .embeddings.segment import segment_embedding_backward as segment_embedding_backward
from .embeddings.segment import segment_embedding_forward as segment_embedding_forward
from .embeddings.sinusoidal import sinusoidal_backward as sinusoidal_backward
from .embeddings.sinusoidal import sinusoidal_forward as sinusoidal_forward
from .embeddings.sinusoidal_2d import sinusoidal_2d_backward as sinusoidal_2d_backward
from .embeddings.sinusoidal_2d import sinusoidal_2d_forward as sinusoidal_2d_forward
from .embeddings.tied_head import tied_head_backward as tied_head_backward
from .embeddings.tied_head import tied_head_forward as tied_head_forward
from .embeddings.timestep import timestep_embedding_backward as timestep_embedding_backward
from .embeddings.timestep import timestep_embedding_forward as timestep_embedding_forward
from .embeddings.token import token_embedding_backward as token_embedding_backward
from .embeddings.token import token_embedding_forward as token_embedding_forward
from .embeddings.transformer import transformer_embedding_backward as transformer_embedding_backward
from .embeddings.transformer import transformer_embedding_forward as transformer_embedding_forward
from .ops import OPS as OPS
from .rotary.angles import rope_angles_backward as rope_angles_backward
from .rotary.angles import rope_angles_forward as rope_angles_forward
from .rotary.axial import axial_cos_sin as axial_cos_sin
from .rotary.axial import axial_rope_backward as axial_rope_backward
from .rotary.axial import axial_rope_forward as axial_rope_forward
from .rotary.embedding import rotary_embedding_backward as rotary_embedding_backward
from .rotary.embedding import rotary_embedding_forward as rotary_embedding_forward
from .rotary.frequencies import dynamic_ntk_frequencies as dynamic_ntk_frequencies
from .rotary.frequencies import linear_frequencies as linear_frequencies
from .rotary.frequencies import ntk_frequencies as ntk_frequencies
from .rotary.frequencies import proportional_frequencies as proportional_frequencies
from .rotary.frequencies import rope_frequencies as rope_frequencies
from .rotary.frequencies_by_parts import llama3_frequencies as llama3_frequencies
from .rotary.frequencies_by_parts import ntk_by_parts_frequencies as ntk_by_parts_frequencies
from .rotary.frequencies_longrope import longrope_frequencies as longrope_frequencies
from .rotary.frequencies_yarn import yarn_attention_factor as yarn_attention_factor
from .rotary.frequencies_yarn import yarn_frequencies as yarn_frequencies
from .rotary.mixed import mixed_angles_backward as mixed_angles_backward
from .rotary.mixed import mixed_angles_forward as mixed_angles_forward
from .rotary.mla import MlaRope as MlaRope
from .rotary.mla import mla_rope_backward as mla_rope_backward
from .rotary.mla import mla_rope_forward as mla_rope_forward
from .rotary.mrope import mrope_cos_sin as mrope_cos_sin
from .rotary.partial import partial_rope_backward as partial_rope_backward
from .rotary.partial import partial_rope_forward as partial_rope_forward
from .rotary.permute import permute_pairs_backward as permute_pairs_backward
from .rotary.permute import permute_pairs_forward as permute_pairs_forward
from .rotary.rope import rope_backward as rope_backward
from .rotary.rope import rope_cos_sin as rope_cos_sin
from .rotary.rope import rope_forward as rope_forward
from .rotary.temperature import query_temperature_backward as query_temperature_backward
from .rotary.temperature import query_temperature_forward as query_temperature_forward
from .rotary.xpos import xpos_backward as xpos_backward
from .rotary.xpos import xpos_forward as xpos_forward

__version__ = "0.1.0"
