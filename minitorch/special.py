"""Special functions under torch.special's names: those of the operator table, some under two names."""

from typing import Any

from .dispatch import FUNCTIONS

_ALIASES = {
    "expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma", "gammainc": "igamma", "gammaincc": "igammac",
    "multigammaln": "mvlgamma",
}


def __getattr__(name: str) -> Any:
    for key in (f"special_{name}", _ALIASES.get(name, name)):
        if key in FUNCTIONS:
            return FUNCTIONS[key]
    raise AttributeError(f"module 'minitorch.special' has no attribute '{name}': it is not implemented")


def __dir__() -> list[str]:
    return sorted([*(n.removeprefix("special_") for n in FUNCTIONS if n.startswith("special_")), *_ALIASES])
