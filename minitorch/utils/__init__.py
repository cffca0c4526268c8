"""Helpers around the framework (torch/utils): `data` loads it with samples, `hooks` holds removable hooks."""
