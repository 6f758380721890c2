"""Secrets: which values must not be stored as they are, and what is stored in their place.

A text (or bytes) is secret by the name that it goes by, by its own shape, by the words around it in
a command, or because it contains a text that is secret elsewhere. A number is secret only by the
name of a password, a secret or a credential; arrays and functions never are. What is stored of a
secret is a short digest, which says that it changed and not what it is.
"""

from keepset.core.secrets.mask import Mask, secret_texts, strength_after, strength_of_pair
from keepset.core.secrets.names import ALL, NONE, SURE, VAGUE, WEAK, strength_of_name
from keepset.core.secrets.values import decoded, is_secret, looks_random, placeholder

__all__ = [
    "ALL",
    "NONE",
    "SURE",
    "VAGUE",
    "WEAK",
    "Mask",
    "decoded",
    "is_secret",
    "looks_random",
    "placeholder",
    "secret_texts",
    "strength_after",
    "strength_of_name",
    "strength_of_pair",
]
