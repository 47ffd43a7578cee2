"""Running kernels: worker processes, timing, races against baselines, the machine lock."""
