"""PyTorch's own list of ops, with its own samples, on Weft (opinfo.py): all pass, but for those listed here."""

import warnings

import opinfo
import pytest

# What Weft does not have, or does otherwise, by reason. An entry that starts to pass must leave the list.
LISTED = {
    "complex numbers":
        "view_as_real view_as_complex complex stft istft imag nn_functional_silu_complex polar cdouble cfloat chalf fft_fft fft_fft2 "
        "fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_rfft fft_rfft2 fft_rfftn fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_ihfft2 "
        "fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_fftshift fft_ifftshift linalg_eig linalg_eigvals",
    "sparse": "sparse_sampled_addmm sparse_mm_reduce to_sparse",
    "cuda":
        "jiterator_unary jiterator_binary jiterator_4inputs_with_extra_args jiterator_binary_return_by_ref jiterator_2inputs_2outputs "
        "nn_functional_batch_norm_without_cudnn torch__scaled_mm torch__scaled_mm_v2 torch_ops_aten__flash_attention_forward "
        "torch_ops_aten__efficient_attention_forward",
    "internal":
        "_softmax_backward_data _native_batch_norm_legit _batch_norm_with_update _upsample_bilinear2d_aa "
        "max_pool2d_with_indices_backward torch_ops_aten__safe_softmax_default slice _unsafe_masked_index "
        "_unsafe_masked_index_put_accumulate _chunk_cat native_dropout_backward hash_tensor _segment_reduce_lengths "
        "_segment_reduce_offsets grid_sampler_2d grid_sampler_3d native_group_norm native_layer_norm native_batch_norm",
    "layers and losses":
        "nn_functional_linear_cross_entropy nn_functional_linear_cross_entropy_chunked nn_functional_linear_cross_entropy_chunked_none "
        "nn_functional_multi_margin_loss nn_functional_multilabel_margin_loss nn_functional_triplet_margin_with_distance_loss "
        "nn_functional_feature_alpha_dropout_without_train nn_functional_ctc_loss nn_functional_pdist",
    "one triangle is read, and has a gradient": "cholesky_inverse cholesky_solve",
    "storages are never larger than the tensor": "as_strided_partial_views",
    "wrong in PyTorch": "as_strided_scatter",
    "1-d inputs": "nn_functional_batch_norm",
    "factors": "geqrf linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve",
}
REASONS = {name: reason for reason, names in LISTED.items() for name in names.split()}


def test_listed_names_are_entries():
    unknown = sorted(REASONS.keys() - opinfo.ENTRIES.keys())
    assert not unknown, f"PyTorch has no entries {unknown}"
    assert len(REASONS) == sum(len(names.split()) for names in LISTED.values()), "a name is listed twice"


@pytest.mark.parametrize("name", opinfo.ENTRIES)
@pytest.mark.filterwarnings("ignore")
def test_entry(name):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opinfo.check(opinfo.ENTRIES[name])
    except (AssertionError, opinfo.Missing, opinfo.Unsupported) as error:
        if name in REASONS:
            return
        raise AssertionError(f"{name}: {error}") from error
    assert name not in REASONS, f"{name} passes now: take it from the list under '{REASONS[name]}'"


# PyTorch documents no `out` for functions of nn.functional; edges in a list are none of its kind, and a bool is no tensor.
WITHOUT_OUT = {"histogramdd", "equal", "special_ndtr", "special_xlog1py", "special_entr", "as_strided_partial_views"}
WITH_OUT = [n for n, e in opinfo.ENTRIES.items() if e.supports_out and not n.startswith("nn_functional") and n not in WITHOUT_OUT]


@pytest.mark.parametrize("name", [n for n in WITH_OUT if REASONS.get(n) is None])
@pytest.mark.filterwarnings("ignore")
def test_out(name):
    opinfo.check_out(opinfo.ENTRIES[name])
