"""How large chunks and files are, unless somebody says otherwise."""

CHUNK_BYTES = 2 << 20
SEGMENT_BYTES = 128 << 20
