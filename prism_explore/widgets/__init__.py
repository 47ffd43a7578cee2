"""Journal to pictures: Python computes them, the browser draws them."""
