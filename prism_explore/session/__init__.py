"""The session: the public object that steps, steers, saves and resumes one search."""
