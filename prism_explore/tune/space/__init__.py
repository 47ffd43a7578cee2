"""The tuning space: legal sizes and schedules, the time model, and the pool of all points."""
