"""The type of a tensor as users write it."""

import numpy as np
import pytest
import torch

from prism_explore.errors import ShapeError
from prism_explore.ir.tensors import DTYPES, tensor


@pytest.mark.parametrize("dtype", DTYPES)
def test_our_own_names_mean_themselves(dtype: str) -> None:
    assert tensor("b", dtype=dtype).dtype == dtype


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (torch.bfloat16, "bf16"),
        ("torch.float16", "f16"),
        ("bfloat16", "bf16"),
        (np.float32, "f32"),
        (np.dtype("float64"), "f64"),
        (np.dtype("int64"), "i64"),
        ("i8", "i8"),
        (torch.int8, "i8"),
        (torch.int32, "i32"),
        (bool, "bool"),
    ],
)
def test_a_dtype_of_torch_or_numpy_is_read(given: object, meant: str) -> None:
    assert tensor("b", 4, dtype=given).dtype == meant


@pytest.mark.parametrize("given", [torch.complex64, "float31", None, float, 3])
def test_any_other_dtype_is_refused_with_the_known_ones(given: object) -> None:
    with pytest.raises(ShapeError, match=r"unknown dtype .*; known are f64, .*bfloat16"):
        tensor("b", dtype=given)
