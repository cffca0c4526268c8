"""The version of minitorch (torch.version)."""

__version__ = "0.1.0"
cuda = hip = xpu = None  # torch's record of what it was built with: minitorch is not built
git_version = "unknown"
debug = False
torch = "2.13.0"  # the release whose behaviour is followed
