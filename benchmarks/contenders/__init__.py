"""One contender per file, each imported only by the worker process that runs it.

A module here offers

- ``DISTRIBUTIONS``: the installed packages whose versions belong beside its results;
- one function table per benchmark, named after it (``PIPELINE``). It maps a job's name to
  ``build(n)``, which prepares the job for ``n`` elements off the clock and returns ``start``;
  each ``start()`` begins a fresh pass and returns its iterator. The clock covers ``start()``
  and a ``for`` loop to the end. A job that the contender has no means for is left out;
- ``NOTES`` (optional): what a reader should know about how a job is done here.

A ``build`` may have attributes: ``note``, added to the notes; ``most`` and ``least``, how many
elements a pass can have and must have to be fair; ``stored_bytes()``, what an element takes on
disk; ``unchecked``, for a limit that gives nothing to compare. A ``start`` may have ``finish()``,
called after each pass off the clock, and ``marks``, the seconds at which a pass came to a point.

Functions see the same ``np.int64`` elements everywhere, except where a library makes its own
(TensorFlow its tensors, grain Python integers). Each library is used the fastest documented way
that gives the same output.
"""
