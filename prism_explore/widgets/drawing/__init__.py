"""Drawing: layout, charts, SVG, colours, text metrics."""
