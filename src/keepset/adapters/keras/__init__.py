"""Keras 3: pipelines as the data of ``fit``, ``evaluate`` and ``predict``, for each backend."""
