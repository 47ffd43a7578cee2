"""TypeScript types, printed from the dataclasses of scenes and panels."""
