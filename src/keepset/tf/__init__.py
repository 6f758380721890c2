"""TensorFlow's data side without TensorFlow: ``import keepset.tf as tf``.

Names over the library, and no second engine: ``tf.data.Dataset`` is a :class:`keepset.Dataset`
whose elements are tensors, which hold arrays of NumPy. Python's own numbers become int32 and
float32, as in TensorFlow. What is not covered says so when it is asked for.

Example:
    >>> import keepset.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 2)
    >>> [int(x) for x in ds], ds.element_spec
    ([2, 4, 6], TensorSpec(shape=(), dtype=tf.int32, name=None))
"""

from __future__ import annotations

from keepset.tf import (
    audio,
    autograph,
    bitwise,
    compat,
    config,
    data,
    debugging,
    distribute,
    dtypes,
    errors,
    experimental,
    functions,
    image,
    io,
    linalg,
    lookup,
    math,
    nest,
    nn,
    ragged,
    random,
    raw_ops,
    signal,
    sparse,
    strings,
    sysconfig,
    test,
    train,
    version,
)
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.data.specs import OptionalSpec, type_spec_from_value
from keepset.tf.debugging import Assert, assert_equal, assert_greater, assert_less, assert_rank
from keepset.tf.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from keepset.tf.functions import *  # noqa: F403
from keepset.tf.functions.module import Module
from keepset.tf.linalg import einsum, matmul, tensordot
from keepset.tf.math import scalar_mul
from keepset.tf.not_covered import not_covered
from keepset.tf.strings import as_string
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from keepset.tf.tensors.tensor import Tensor

__all__ = [
    "Assert",
    "DType",
    "Module",
    "OptionalSpec",
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "TypeSpec",
    "as_dtype",
    "as_string",
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "audio",
    "autograph",
    "bfloat16",
    "bitwise",
    "bool",
    "compat",
    "complex64",
    "complex128",
    "config",
    "data",
    "debugging",
    "distribute",
    "double",
    "dtypes",
    "einsum",
    "errors",
    "experimental",
    "float16",
    "float32",
    "float64",
    "half",
    "image",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "linalg",
    "lookup",
    "math",
    "matmul",
    "nest",
    "newaxis",
    "nn",
    "ragged",
    "random",
    "raw_ops",
    "scalar_mul",
    "signal",
    "sparse",
    "string",
    "strings",
    "sysconfig",
    "tensordot",
    "test",
    "train",
    "type_spec_from_value",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "version",
]
__all__ += functions.__all__

newaxis = None
# That of TensorFlow whose names and rules these are. Keepset's own is keepset.__version__.
__version__ = version.VERSION

__getattr__ = not_covered("tf")
