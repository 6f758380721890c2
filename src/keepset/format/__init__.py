"""The files that Keepset writes for itself. Nothing in them is ever run."""
