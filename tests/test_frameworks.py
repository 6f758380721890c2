"""The environment of the interop tests: all frameworks, together in one process."""

import numpy as np
import pytest


@pytest.mark.interop
def test_the_frameworks_are_installed_and_share_a_process() -> None:
    # Imported without importorskip: this test fails where those that use it would only be skipped.
    import datasets
    import jax.numpy
    import tensorflow
    import torch

    arrays = [jax.numpy.arange(3), tensorflow.range(3), torch.arange(3)]
    assert [np.asarray(array).tolist() for array in arrays] == [[0, 1, 2]] * 3
    assert datasets.Dataset.from_dict({"x": [1]})[0] == {"x": 1}
