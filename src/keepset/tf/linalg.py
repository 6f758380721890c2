"""``tf.linalg``: matrices, by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.functions.arrays import eye
from keepset.tf.functions.norms import global_norm, l2_normalize, norm, normalize
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors import arithmetic
from keepset.tf.tensors.arithmetic import COMPLEX, FLOATS, NUMBERS, check_dtype
from keepset.tf.tensors.conversion import (
    Value,
    as_value,
    int_of,
    ints_of,
    matching,
    plain,
    value_of,
)
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor, array_of, wrapped

_SOLVABLE: Final = frozenset({"float16", "float32", "float64"}) | COMPLEX
_FACTORED: Final = _SOLVABLE - {"float16"}


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Tensor:
    """The product of matrices, or of each two of many."""
    one, two = matching(a, b)
    check_dtype(one, NUMBERS, matmul)
    if np.ndim(one) < 2 or np.ndim(two) < 2:
        raise InvalidArgumentError(
            f"matrices have at least 2 dimensions, not {np.ndim(one)} and {np.ndim(two)}; "
            "use tf.linalg.matvec or tf.tensordot for vectors"
        )
    one = _turned(one, transpose_a or adjoint_a, adjoint_a)
    two = _turned(two, transpose_b or adjoint_b, adjoint_b)
    found = Tensor(arithmetic.matmul(one, Tensor(two)))
    return found if output_type is None else wrapped(found._value.astype(output_type.storage))


def _turned(value: Value, is_transposed: bool, is_adjoint: bool) -> Value:
    turned = np.swapaxes(value, -1, -2) if is_transposed else value
    return np.conj(turned) if is_adjoint else turned


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of a matrix and a vector."""
    one, two = matching(a, b)
    if not np.ndim(two):
        raise InvalidArgumentError("tf.linalg.matvec takes a vector, not a scalar")
    found = matmul(Tensor(one), Tensor(two[..., np.newaxis]), transpose_a, adjoint_a=adjoint_a)
    return wrapped(found._value[..., 0])


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Rows in place of columns, of a matrix or of each of many."""
    return wrapped(_turned(_matrix(a), True, conjugate))


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """Rows in place of columns, conjugated."""
    return matrix_transpose(matrix, conjugate=True)


def _matrix(given: Any) -> Any:
    found = array_of(given)
    if np.ndim(found) < 2:
        raise InvalidArgumentError(f"a matrix has at least 2 dimensions, not {np.ndim(found)}")
    return found


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sums of the products over the last axes of one tensor and the first of another."""
    one, two = value_of(a), value_of(b)
    _check_alike([one, two])
    along = axes if isinstance(axes, list | tuple) else int_of(axes)
    if isinstance(along, list | tuple):
        along = tuple(ints_of(each) for each in along)
    try:
        return wrapped(run_quietly(np.tensordot, one, two, along))
    except (ValueError, IndexError) as error:
        raise InvalidArgumentError(
            f"shapes {np.shape(one)} and {np.shape(two)} along {axes}: {error}"
        ) from error


def einsum(equation: str, *inputs: Any, **options: Any) -> Tensor:
    """Sums of products along the axes that letters stand for."""
    values = [array_of(each) for each in inputs]
    _check_alike(values)
    for each in values:
        check_dtype(each, NUMBERS, einsum)
    try:
        return wrapped(np.einsum(equation, *values))
    except ValueError as error:
        raise InvalidArgumentError(f"{equation!r}: {error}") from error


def _check_alike(values: list[Value]) -> None:
    if len({each.dtype for each in values}) > 1:
        names = " and ".join(each.dtype.name for each in values)
        raise DtypeError(f"tensors of {names} do not go together; use tf.cast")


def diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with vectors on a diagonal. Several diagonals at once are not covered."""
    given, offset = array_of(diagonal), int_of(k)
    if not np.ndim(given):
        raise InvalidArgumentError("tf.linalg.diag takes a vector, not a scalar")
    size = given.shape[-1] + abs(offset)
    rows, columns = (size if int_of(each) == -1 else int_of(each) for each in (num_rows, num_cols))
    made = np.full((*given.shape[:-1], rows, columns), padding_value, given.dtype)
    places = np.arange(given.shape[-1])
    made[..., places + max(-offset, 0), places + max(offset, 0)] = given
    return Tensor(made)


def diag_part(
    input: Any,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonals of matrices."""
    return wrapped(np.diagonal(_matrix(input), int_of(k), -2, -1))


def set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with other diagonals."""
    given, values = (plain(each) for each in matching(input, diagonal))
    made, offset = np.array(_matrix(given)), int_of(k)
    length = np.diagonal(made, offset, -2, -1).shape[-1]
    if np.shape(values) != (*made.shape[:-2], length):
        raise InvalidArgumentError(
            f"the diagonal has shape {np.shape(values)} and needs {(*made.shape[:-2], length)}"
        )
    places = np.arange(length)
    made[..., places + max(-offset, 0), places + max(offset, 0)] = values
    return Tensor(made)


def tensor_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor on the diagonal of one with twice as many dimensions."""
    given = array_of(diagonal)
    return wrapped(np.diag(np.ravel(given)).reshape(given.shape * 2))


def tensor_diag_part(input: Any, name: str | None = None) -> Tensor:
    """The diagonal of a tensor with an even number of dimensions."""
    given = array_of(input)
    half = given.ndim // 2
    if not half or given.ndim % 2 or given.shape[:half] != given.shape[half:]:
        raise InvalidArgumentError(f"the halves of the shape {given.shape} must be equal")
    size = int(np.prod(given.shape[:half]))
    return wrapped(np.diagonal(given.reshape(size, size)).reshape(given.shape[:half]))


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices with zeros but on some diagonals; -1 stands for all on that side."""
    given = _matrix(input)
    lower, upper = int_of(num_lower), int_of(num_upper)
    distance = np.arange(given.shape[-1]) - np.arange(given.shape[-2])[:, np.newaxis]
    is_in = ((lower < 0) | (-distance <= lower)) & ((upper < 0) | (distance <= upper))
    return wrapped(np.where(is_in, given, given.dtype.type(0)))


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal."""
    given = _matrix(x)
    check_dtype(given, NUMBERS, trace)
    return wrapped(np.trace(given, 0, -2, -1, given.dtype))


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The vectors that are orthogonal to two."""
    one, two = matching(a, b)
    check_dtype(one, NUMBERS - COMPLEX, cross)
    if np.shape(one) != np.shape(two) or np.shape(one)[-1:] != (3,):
        raise InvalidArgumentError("Cross-products are only defined for 3-element vectors.")
    return wrapped(run_quietly(np.cross, one, two))


def _factored(name: str, function: Callable[[Any], Any], doc: str) -> Callable[..., Tensor]:
    """A function of matrices in NumPy's manner, of which some have no answer."""

    def solve_it(input: Any, name: str | None = None) -> Tensor:
        given = _matrix(input)
        check_dtype(given, _SOLVABLE, solve_it)
        return wrapped(_solved(function, given))

    solve_it.__name__ = solve_it.__qualname__ = name
    solve_it.__doc__ = doc
    return solve_it


def _solved(function: Callable[..., Any], *values: Any) -> Any:
    """What NumPy computes in float64, which float16 is not enough for."""
    wide = [each.astype(np.float32) if each.dtype == np.float16 else each for each in values]
    try:
        return np.asarray(function(*wide)).astype(values[0].dtype)
    except np.linalg.LinAlgError as error:
        shapes = " and ".join(str(each.shape) for each in values)
        raise InvalidArgumentError(f"matrices of shape {shapes}: {error}") from error


det = _factored("det", np.linalg.det, "The determinants of matrices.")
cholesky = _factored("cholesky", np.linalg.cholesky, "The lower triangles that square to matrices.")
logdet = _factored("logdet", lambda x: np.linalg.slogdet(x)[1], "The logarithms of determinants.")
eigvalsh = _factored("eigvalsh", np.linalg.eigvalsh, "The eigenvalues of symmetric matrices.")
pinv = _factored("pinv", np.linalg.pinv, "The pseudo-inverses of matrices.")


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverses of matrices."""
    given = _matrix(input)
    check_dtype(given, _SOLVABLE, inv)
    return wrapped(_solved(np.linalg.inv, _turned(given, adjoint, adjoint)))


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """What a matrix is multiplied with to give the right-hand side."""
    one, two = matching(matrix, rhs)
    check_dtype(one, _SOLVABLE, solve)
    left, right = _turned(_matrix(one), adjoint, adjoint), _matrix(two)
    try:
        return wrapped(_solved(np.linalg.solve, left, right))
    except ValueError as error:
        raise InvalidArgumentError(f"{left.shape} and {right.shape}: {error}") from error


class LogMatrixDeterminant(NamedTuple):
    """A determinant as its sign and the logarithm of its absolute value."""

    sign: Tensor
    log_abs_determinant: Tensor


def slogdet(input: Any, name: str | None = None) -> LogMatrixDeterminant:
    """The determinants of matrices, too great or too small for their dtype."""
    given = _matrix(input)
    check_dtype(given, _FACTORED, slogdet)
    return LogMatrixDeterminant(*map(wrapped, np.linalg.slogdet(given)))


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """How many rows do not depend on others."""
    given = _matrix(a)
    check_dtype(given, FLOATS | COMPLEX, matrix_rank)
    found = np.linalg.matrix_rank(given, None if tol is None else array_of(tol))
    return wrapped(np.asarray(found).astype(np.int32))


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """The singular values, and the matrices on both sides, whose signs are not TensorFlow's."""
    given = _matrix(tensor)
    check_dtype(given, _FACTORED, svd)
    if not compute_uv:
        return wrapped(np.linalg.svd(given, compute_uv=False))
    left, values, right = np.linalg.svd(given, full_matrices)
    return wrapped(values), wrapped(left), wrapped(np.conj(np.swapaxes(right, -1, -2)))


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and -vectors of symmetric matrices, whose signs are not TensorFlow's."""
    given = _matrix(tensor)
    check_dtype(given, _FACTORED, eigh)
    values, vectors = np.linalg.eigh(given)
    return wrapped(as_value(values)), wrapped(vectors)


__all__ = [
    "LogMatrixDeterminant",
    "adjoint",
    "band_part",
    "cholesky",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
]

__getattr__ = not_covered("tf.linalg")
