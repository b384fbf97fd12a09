"""Which arrays go where in which multicast objects: pure arithmetic, with neither a driver nor arrays."""
