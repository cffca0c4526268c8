"""Neural networks: modules, their parameters, and the functions they are made of (torch.nn)."""
