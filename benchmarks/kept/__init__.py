"""Tools that keep data on disk, one per file, each imported only by the process that runs it.

A module here has a class with some of the methods of ``jobs.Tool``, and offers

- ``DISTRIBUTIONS``: the installed packages whose versions belong beside its results;
- ``KEPT = jobs_of(TheTool())``, and further tables if it keeps data in other ways, too;
- ``NOTES`` (optional): what a reader should know about how a job is done here.

Each tool is used the fastest documented way that gives the same output.
"""
