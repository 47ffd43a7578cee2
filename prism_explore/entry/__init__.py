"""Entry points besides the notebook: the command line, the torch.compile backend, large programs in parts."""
