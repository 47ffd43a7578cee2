"""The space of kernel sizes: legal parameters, the time model, and sizes in order of modelled time."""
