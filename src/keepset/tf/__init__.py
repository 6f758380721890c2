"""TensorFlow's data side without TensorFlow: ``import keepset.tf as tf``.

Names over the library, and no second engine: ``tf.data.Dataset`` is a :class:`keepset.Dataset`
whose elements are tensors, which hold arrays of NumPy. Python's own numbers become int32 and
float32, as in TensorFlow. What is not covered says so when it is asked for.

Example:
    >>> import keepset.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 2)
    >>> [int(x) for x in ds], ds.element_spec.dtype
    ([2, 4, 6], dtype('int32'))
"""

from __future__ import annotations

from keepset.core.spec import RaggedTensorSpec, SparseTensorSpec, TensorSpec
from keepset.tf import (
    arrangement,
    arrays,
    audio,
    autograph,
    bitwise,
    compat,
    config,
    control,
    counting,
    data,
    debugging,
    dtypes,
    errors,
    functions,
    graphs,
    image,
    indices,
    io,
    linalg,
    lookup,
    math,
    math_table,
    nest,
    nn,
    norms,
    printing,
    ragged,
    random,
    reductions,
    selection,
    signal,
    sparse,
    strings,
    train,
    variable,
)
from keepset.tf.arrangement import *  # noqa: F403
from keepset.tf.arrays import *  # noqa: F403
from keepset.tf.control import *  # noqa: F403
from keepset.tf.counting import *  # noqa: F403
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
from keepset.tf.graphs import *  # noqa: F403
from keepset.tf.indices import *  # noqa: F403
from keepset.tf.linalg import einsum, matmul, tensordot
from keepset.tf.math import scalar_mul
from keepset.tf.norms import *  # noqa: F403
from keepset.tf.not_covered import not_covered
from keepset.tf.printing import *  # noqa: F403
from keepset.tf.ragged_tensor import RaggedTensor
from keepset.tf.reductions import add_n, argmax, argmin, cumsum
from keepset.tf.selection import *  # noqa: F403
from keepset.tf.shapes import TensorShape
from keepset.tf.sparse_tensor import SparseTensor
from keepset.tf.tensor import Tensor
from keepset.tf.variable import *  # noqa: F403

_FROM_TABLES = {name: math_table.FUNCTIONS[name] for name in math_table.IN_TF}
_FROM_TABLES |= {name: reductions.FUNCTIONS[name] for name in reductions.IN_TF}
globals().update(_FROM_TABLES)

__all__ = [
    "Assert",
    "DType",
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "add_n",
    "argmax",
    "argmin",
    "as_dtype",
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
    "cumsum",
    "data",
    "debugging",
    "double",
    "dtypes",
    "einsum",
    "errors",
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
    "scalar_mul",
    "signal",
    "sparse",
    "string",
    "strings",
    "tensordot",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += arrays.__all__
__all__ += arrangement.__all__
__all__ += control.__all__
__all__ += counting.__all__
__all__ += functions.__all__
__all__ += graphs.__all__
__all__ += indices.__all__
__all__ += norms.__all__
__all__ += printing.__all__
__all__ += selection.__all__
__all__ += variable.__all__
__all__ += list(_FROM_TABLES)

newaxis = None
# That of TensorFlow whose names and rules these are. Keepset's own is keepset.__version__.
__version__ = "2.21.0+keepset"

__getattr__ = not_covered("tf")
