"""W6: an expensive map, kept. 2,000 JPEG files are decoded, made smaller and normalised.

One tool per file, each imported only by the process that runs it. A module here has a class with
some of the methods of ``jobs.JpegTool``, and offers ``DISTRIBUTIONS`` and tables as those of
``kept`` do.
"""
