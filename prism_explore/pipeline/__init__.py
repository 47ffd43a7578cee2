"""The data that passes between the stages of a search."""
