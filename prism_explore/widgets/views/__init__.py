"""Views: pictures computed from the journal."""
