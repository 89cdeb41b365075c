"""The operators that a Program may call, by family. Whatever is not listed is refused, in recording and in replay.

Names are those of ATen without overload; an in-place form (`relu_`) belongs to its plain one. Nothing here reads files,
keeps state, or looks at the host. Operators of family `random` are only allowed in `setup`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

_FAMILIES: Mapping[str, str] = {
    # One result element from one element of each operand.
    "elementwise": """
        abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min complex conj_physical
        _conj_physical copysign cos cosh deg2rad digamma div elu elu_backward eq erf erfc erfinv exp exp2 expm1
        float_power
        floor floor_divide fmax fmin fmod frac frexp gcd ge gelu gelu_backward glu glu_backward gt hardshrink
        hardshrink_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh hardtanh_backward
        heaviside hypot i0 igamma igammac isclose isfinite isin isinf isnan isneginf isposinf lcm ldexp le leaky_relu
        leaky_relu_backward lerp lgamma log log10 log1p log2 log_sigmoid_backward log_sigmoid_forward logaddexp
        logaddexp2 logical_and logical_not logical_or logical_xor logit logit_backward lt masked_fill maximum minimum
        mish mish_backward mul mvlgamma nan_to_num ne neg nextafter polar polygamma positive pow prelu _prelu_kernel
        rad2deg reciprocal relu relu6 remainder round rrelu_with_noise rsqrt rsub selu sgn sigmoid sigmoid_backward sign
        signbit silu silu_backward sin sinc sinh softplus softplus_backward softshrink softshrink_backward sqrt square
        special_bessel_j0 special_bessel_j1 special_entr special_erfcx special_i0e special_i1 special_i1e
        special_log_ndtr special_ndtri special_xlog1py special_zeta sub tan tanh tanh_backward threshold
        threshold_backward trunc where xlogy _add_relu masked_scale _masked_scale relu_backward __and__ __or__ __xor__
        __lshift__ __rshift__
        _prelu_kernel_backward rrelu_with_noise_backward
        """,
    "reduction": """
        all amax amin aminmax any argmax argmin count_nonzero dist equal hash_tensor linalg_vector_norm logsumexp max
        mean min nansum norm prod std std_mean sum trace var var_mean _aminmax native_norm
        """,
    "normalisation": """
        _softmax _log_softmax _safe_softmax _masked_softmax softmax log_softmax native_layer_norm layer_norm
        native_group_norm group_norm native_batch_norm cudnn_batch_norm batch_norm _native_batch_norm_legit
        _native_batch_norm_legit_no_training _batch_norm_no_update _batch_norm_with_update _fused_rms_norm rms_norm
        _softmax_backward_data _log_softmax_backward_data native_layer_norm_backward native_group_norm_backward
        native_batch_norm_backward cudnn_batch_norm_backward instance_norm renorm _weight_norm _weight_norm_interface
        batch_norm_update_stats
        batch_norm_backward _fused_rms_norm_backward _masked_softmax_backward _weight_norm_interface_backward
        """,
    "matmul": """
        addbmm addmm addmv addr baddbmm bilinear bmm dot linear matmul mm mv outer vdot _addmm_activation _int_mm
        _scaled_mm _scaled_mm_v2 _trilinear linalg_matmul _foreach_mm _grouped_mm einsum tensordot inner
        """,
    "convolution": """
        convolution cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
        _convolution _conv_depthwise2d conv_depthwise3d slow_conv3d slow_conv3d_forward slow_conv_dilated2d
        slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d _slow_conv2d_forward thnn_conv2d conv_tbc conv1d
        conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution_backward im2col col2im
        """,
    "attention": """
        scaled_dot_product_attention _scaled_dot_product_attention_math _scaled_dot_product_cudnn_attention
        _scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention
        _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable
        _flash_attention_forward _efficient_attention_forward _cudnn_attention_forward _native_multi_head_attention
        _transformer_encoder_layer_fwd
        _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention_backward
        _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward
        _scaled_dot_product_fused_attention_overrideable_backward _flash_attention_backward
        _efficient_attention_backward _cudnn_attention_backward
        """,
    "recurrent": """
        lstm gru rnn_tanh rnn_relu _cudnn_rnn _cudnn_rnn_flatten_weight _thnn_fused_lstm_cell _thnn_fused_gru_cell
        lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
        _cudnn_rnn_backward _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell_backward_impl
        """,
    "pooling": """
        avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
        _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
        max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
        max_unpool2d max_unpool3d avg_pool2d_backward avg_pool3d_backward max_pool2d_with_indices_backward
        max_pool3d_with_indices_backward _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward
        fractional_max_pool2d fractional_max_pool3d
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward
        """,
    "resampling": """
        affine_grid_generator cudnn_affine_grid_generator cudnn_grid_sampler grid_sampler_2d grid_sampler_3d
        upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
        upsample_nearest3d upsample_trilinear3d _upsample_bicubic2d_aa _upsample_bilinear2d_aa
        _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
        cudnn_grid_sampler_backward grid_sampler_2d_backward grid_sampler_3d_backward upsample_bicubic2d_backward
        upsample_bilinear2d_backward upsample_linear1d_backward upsample_nearest1d_backward upsample_nearest2d_backward
        upsample_nearest3d_backward upsample_trilinear3d_backward _upsample_nearest_exact1d_backward
        _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward
        """,
    "loss": """
        binary_cross_entropy binary_cross_entropy_with_logits huber_loss kl_div l1_loss mse_loss nll_loss
        nll_loss2d_forward nll_loss_forward smooth_l1_loss soft_margin_loss multi_margin_loss
        multilabel_margin_loss_forward _ctc_loss _cudnn_ctc_loss nll_loss_backward mse_loss_backward
        smooth_l1_loss_backward huber_loss_backward binary_cross_entropy_backward cosine_similarity
        cosine_embedding_loss cross_entropy_loss _cdist_forward cdist _euclidean_dist _pdist_forward pairwise_distance
        nll_loss2d_backward soft_margin_loss_backward multi_margin_loss_backward multilabel_margin_loss_backward
        _cdist_backward _pdist_backward _ctc_loss_backward
        """,
    "indexing": """
        embedding embedding_dense_backward _embedding_bag _embedding_bag_forward_only gather index index_add index_copy
        index_fill index_put index_reduce index_select masked_scatter put scatter scatter_add scatter_reduce take
        _index_put_impl_ _unsafe_index _unsafe_index_put _unsafe_masked_index bucketize searchsorted bincount histc
        diagonal_scatter select_scatter slice_scatter as_strided_scatter nonzero_static one_hot fill_diagonal_
        _embedding_bag_dense_backward
        """,
    "scan": "cumsum cumprod cummax cummin logcumsumexp _cummax_helper _cummin_helper _logcumsumexp",
    "sorting": "sort topk kthvalue median nanmedian mode msort argsort _unique _unique2 unique_dim unique_consecutive",
    # Moves elements, or makes them without reading any.
    "copy": """
        _to_copy clone contiguous copy copy_ cat stack flip roll rot90 repeat repeat_interleave constant_pad_nd
        reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
        reflection_pad2d_backward replication_pad2d_backward channel_shuffle native_channel_shuffle pixel_shuffle
        pixel_unshuffle tril triu block_diag diag_embed unfold_copy view_copy permute_copy transpose_copy expand_copy
        slice_copy select_copy split_copy unbind_copy _unsafe_view _reshape_copy narrow_copy as_strided_copy
        view_as_real
        view_as_complex view_as_real_copy view_as_complex_copy _chunk_cat diagonal_copy t_copy alias_copy detach_copy
        squeeze_copy unsqueeze_copy _copy_from fold unfold unfold_backward constant_pad _pad_circular _pad_enum pad
        select_backward slice_backward diagonal_backward reflection_pad1d_backward reflection_pad3d_backward
        replication_pad1d_backward replication_pad3d_backward
        """,
    "factory": """
        arange empty empty_like empty_permuted empty_strided eye fill fill_ full full_like linspace logspace new_empty
        new_empty_strided new_full new_ones new_zeros ones ones_like scalar_tensor tril_indices triu_indices zero zero_
        zeros zeros_like range vander hann_window hamming_window blackman_window bartlett_window kaiser_window
        """,
    "linalg": """
        cholesky cholesky_inverse cholesky_solve _cholesky_solve_helper linalg_cholesky_ex linalg_cross linalg_det
        _linalg_det linalg_eig linalg_eigh _linalg_eigh linalg_eigvals linalg_householder_product linalg_inv_ex
        linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor_ex linalg_lu_solve
        linalg_matrix_exp linalg_qr _linalg_slogdet _linalg_solve_ex linalg_solve_triangular _linalg_svd lu_unpack
        triangular_solve geqrf ormqr
        """,
    "fft": "_fft_c2c _fft_c2r _fft_r2c",
    "optimiser": "_fused_adagrad_ _fused_adam_ _fused_adamw_ _fused_sgd_",
    "foreach": """
        _foreach_abs _foreach_add _foreach_addcdiv _foreach_addcmul _foreach_clamp_max _foreach_clamp_min _foreach_copy
        _foreach_copy_ _foreach_div _foreach_exp _foreach_lerp _foreach_log _foreach_max _foreach_maximum
        _foreach_minimum _foreach_mul _foreach_neg _foreach_norm _foreach_pow _foreach_reciprocal _foreach_rsqrt
        _foreach_sigmoid _foreach_sign _foreach_sqrt _foreach_sub _foreach_tanh _foreach_zero_
        """,
    "random": """
        bernoulli binomial cauchy_ dropout exponential_ _fused_dropout geometric_ log_normal_ multinomial native_dropout
        normal normal_ poisson rand rand_like randint randint_like randn randn_like random_ randperm rrelu
        _sample_dirichlet _standard_gamma uniform_ alpha_dropout feature_dropout feature_alpha_dropout
        """,
}


@cache
def _table() -> dict[str, str]:
    return {name: family for family, names in _FAMILIES.items() for name in names.split()}


def family_of(operator: str) -> str | None:
    """The family of `aten::mm.default` or `mm`; None if a Program may not call it."""
    namespace, separator, rest = operator.rpartition("::")
    if separator and namespace != "aten":
        return None
    name = rest.partition(".")[0]
    table = _table()
    if name in table:
        return table[name]
    if name.endswith("_") and not name.endswith("__"):
        return table.get(name[:-1])
    return table.get(f"{name[:-9]}_") if name.endswith("_functional") else None
