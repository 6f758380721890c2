"""The functions of ``tf`` itself, by what they do; ``tf`` and ``tf.math`` gather them."""

from __future__ import annotations

from keepset.tf.functions import (
    arrangement,
    arrays,
    calls,
    control,
    counting,
    graphs,
    indices,
    math_table,
    norms,
    printing,
    reductions,
    selection,
    variable,
)
from keepset.tf.functions.arrangement import *  # noqa: F403
from keepset.tf.functions.arrays import *  # noqa: F403
from keepset.tf.functions.calls import *  # noqa: F403
from keepset.tf.functions.control import *  # noqa: F403
from keepset.tf.functions.counting import *  # noqa: F403
from keepset.tf.functions.edit_distance import edit_distance
from keepset.tf.functions.graphs import *  # noqa: F403
from keepset.tf.functions.indices import *  # noqa: F403
from keepset.tf.functions.norms import *  # noqa: F403
from keepset.tf.functions.printing import *  # noqa: F403
from keepset.tf.functions.reductions import add_n, argmax, argmin, cumsum
from keepset.tf.functions.selection import *  # noqa: F403
from keepset.tf.functions.tensor_array import TensorArray
from keepset.tf.functions.variable import *  # noqa: F403

_FROM_TABLES = {name: math_table.FUNCTIONS[name] for name in math_table.IN_TF}
_FROM_TABLES |= {name: reductions.FUNCTIONS[name] for name in reductions.IN_TF}
globals().update(_FROM_TABLES)

__all__ = ["TensorArray", "add_n", "argmax", "argmin", "cumsum", "edit_distance", *_FROM_TABLES]
__all__ += arrangement.__all__
__all__ += arrays.__all__
__all__ += calls.__all__
__all__ += control.__all__
__all__ += counting.__all__
__all__ += graphs.__all__
__all__ += indices.__all__
__all__ += norms.__all__
__all__ += printing.__all__
__all__ += selection.__all__
__all__ += variable.__all__
