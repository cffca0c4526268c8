"""What the hardware runs: arrays in, arrays out.

Nothing in this room knows of a Tensor, and nothing here imports the rest of minitorch. It mirrors `aten/src/ATen/native`.
"""
