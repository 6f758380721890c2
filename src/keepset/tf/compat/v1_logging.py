"""``tf.compat.v1.logging``: Python's logger ``tensorflow``, by older names."""

from __future__ import annotations

import logging
from logging import DEBUG, ERROR, FATAL, INFO, WARN

_logger = logging.getLogger("tensorflow")

debug, info, warning, error = _logger.debug, _logger.info, _logger.warning, _logger.error
fatal, log, set_verbosity = _logger.critical, _logger.log, _logger.setLevel
warn = warning
get_verbosity = _logger.getEffectiveLevel

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "get_verbosity",
    "info",
    "log",
    "set_verbosity",
    "warn",
    "warning",
]
