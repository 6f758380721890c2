"""``tf.dtypes``: the types of items, under the names that they also have in ``tf``."""

from __future__ import annotations

from keepset.tf.functions.arrays import cast
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.dtype import DType, as_dtype

bool = as_dtype("bool")
int8, int16, int32, int64 = (as_dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (as_dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float16, float32, float64 = (as_dtype(f"float{bits}") for bits in (16, 32, 64))
half, double = float16, float64
complex64, complex128 = as_dtype("complex64"), as_dtype("complex128")
bfloat16, string = as_dtype("bfloat16"), as_dtype("string")

__all__ = [
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
    "cast",
    "complex64",
    "complex128",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

__getattr__ = not_covered("tf.dtypes")
