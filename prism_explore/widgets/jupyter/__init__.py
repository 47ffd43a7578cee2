"""The Jupyter side of the explorer: messages, live and recorded models."""
