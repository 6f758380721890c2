"""Options: choices that hold for a whole pipeline."""

from __future__ import annotations

from dataclasses import fields, replace

from keepset.core.record import record
from keepset.errors import InvalidArgumentError


@record
class Options:
    """Choices for a whole pipeline, given with ``Dataset.with_options``.

    Args:
        deterministic: Whether parallel stages keep the order of their input. None leaves it to
            the stages, which keep it unless told otherwise.
        threads: The number of threads that ``AUTOTUNE`` may use; None means the cores.

    Example:
        >>> from keepset import Dataset, Options
        >>> ds = Dataset.range(3).with_options(Options(deterministic=False))
        >>> ds.options().deterministic
        False
    """

    __keepset_recipe__ = ("deterministic", "threads")

    deterministic: bool | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise InvalidArgumentError(f"threads must be at least 1 or None, not {self.threads}")

    def merge(self, other: Options) -> Options:
        """These options, overridden by what ``other`` sets."""
        # Most pipelines set none, and all of their stages are asked whenever a pass begins.
        if other is NO_OPTIONS:
            return self
        if self is NO_OPTIONS:
            return other
        given = {f.name: getattr(other, f.name) for f in fields(self)}
        return replace(self, **{name: value for name, value in given.items() if value is not None})


NO_OPTIONS = Options()
