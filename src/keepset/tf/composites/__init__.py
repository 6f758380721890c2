"""Ragged and sparse tensors, and what the functions of ``tf`` do with them."""
