"""TensorFlow's data side without TensorFlow: ``import keepset.tf as tf``.

Names over the library, and no second engine: ``tf.data.Dataset`` is a :class:`keepset.Dataset`
whose elements are tensors. A tensor here is a NumPy array with ``numpy()``. Python's own numbers
become int32 and float32, as in TensorFlow. What is not covered says so when it is asked for.

Example:
    >>> import keepset.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 2)
    >>> for x in ds:
    ...     print(x.numpy(), x.dtype)
    2 int32
    4 int32
    6 int32
"""

from __future__ import annotations

import numpy as np

from keepset.core.dtypes import as_dtype, string
from keepset.core.ragged import Ragged as RaggedTensor
from keepset.core.sparse import Sparse as SparseTensor
from keepset.core.spec import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from keepset.tf import (
    compat,
    data,
    errors,
    image,
    io,
    nest,
    random,
    strings,
    train,
)
from keepset.tf.arrays import (
    abs,
    argmax,
    argmin,
    cast,
    concat,
    constant,
    convert_to_tensor,
    equal,
    expand_dims,
    fill,
    function,
    gather,
    greater,
    greater_equal,
    identity,
    is_tensor,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
    numpy_function,
    one_hot,
    ones,
    ones_like,
    pad,
    print,
    py_function,
    range,
    rank,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    reshape,
    shape,
    size,
    square,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
    where,
    zeros,
    zeros_like,
)
from keepset.tf.not_covered import not_covered
from keepset.tf.shapes import TensorShape
from keepset.tf.tensor import Tensor

__all__ = [
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "abs",
    "argmax",
    "argmin",
    "bfloat16",
    "bool",
    "cast",
    "compat",
    "complex64",
    "complex128",
    "concat",
    "constant",
    "convert_to_tensor",
    "data",
    "double",
    "equal",
    "errors",
    "expand_dims",
    "fill",
    "float16",
    "float32",
    "float64",
    "function",
    "gather",
    "greater",
    "greater_equal",
    "half",
    "identity",
    "image",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "is_tensor",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "nest",
    "newaxis",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "print",
    "py_function",
    "random",
    "range",
    "rank",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reshape",
    "shape",
    "size",
    "square",
    "squeeze",
    "stack",
    "string",
    "strings",
    "tile",
    "train",
    "transpose",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "where",
    "zeros",
    "zeros_like",
]

bool = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (np.dtype(f"float{bits}") for bits in (16, 32, 64))
half, double = float16, float64
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)
bfloat16 = as_dtype("bfloat16")

newaxis = None

__getattr__ = not_covered("tf")
