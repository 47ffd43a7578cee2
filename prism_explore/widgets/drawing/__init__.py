"""Drawing: layout, SVG, colors, text metrics."""
