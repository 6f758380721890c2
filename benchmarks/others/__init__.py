"""Other people's formats and frameworks: what Keepset and their own libraries make of them."""
