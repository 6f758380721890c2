"""The version of the format that this library writes; it reads this one and all before it."""

FORMAT_VERSION = 1
