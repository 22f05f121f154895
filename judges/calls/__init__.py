"""What surrounds the call of a service: cache, retries, limits, batches. Each has the shape of what it wraps."""
