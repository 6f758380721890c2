"""The contracts that everything else is built on: elements, specs, chunks, nodes and cursors."""
