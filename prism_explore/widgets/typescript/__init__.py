"""TypeScript types, generated from the event classes."""
