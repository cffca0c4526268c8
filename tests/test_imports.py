"""Imports go one way, as the architecture says; the package never imports torch, except for the coverage report."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import minitorch

PACKAGE = Path(minitorch.__file__).parent
KERNELS = PACKAGE.parent / "kernels" if (PACKAGE.parent / "kernels").is_dir() else PACKAGE / "kernels"
REPORT = {
    "minitorch.testing.half",
    "minitorch.testing.stand_in",
    "minitorch.testing.op_db",
    "minitorch.testing.samples",
    "minitorch.testing.__main__",
}

# Each room may import from those before it (and from itself). What is in no room is checked by name only.
ORDER = (
    "kernels",
    "dtypes",
    "devices",
    "utils.hooks",
    "tensor",
    "autograd",
    "dispatch",
    "ops",
    "random",
    "nn",
    "optim",
    "utils",
    "amp",
    "testing",
)


def modules():
    """Pairs (dotted name, path) of all modules of the package and of the kernels."""
    for root, prefix in ((PACKAGE, "minitorch"), (KERNELS, "minitorch.kernels")):
        for path in sorted(root.rglob("*.py")):
            parts = [prefix, *path.relative_to(root).with_suffix("").parts]
            if prefix == "minitorch" and parts[1] == "kernels":
                continue
            yield ".".join(parts), path


def imported(name, path, top_level_only=False):
    """The dotted names a module imports, relative ones resolved."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = name.removesuffix(".__init__").split(".") if name.endswith(".__init__") else name.split(".")[:-1]
    for node in _statements(tree.body) if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _statements(body):
    """The statements that run when the module is imported; not those of functions, nor those for the type checker."""
    for node in body:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.dump(node.test):
                yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _statements([*node.body, *node.orelse, *node.finalbody])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


@pytest.mark.skipif(not (PACKAGE.parent / "pyproject.toml").exists(), reason="not run from the source tree")
def test_every_package_is_installed():
    listed = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {name.rpartition(".")[0] for name, _ in modules()}
    assert sorted(listed) == sorted(there)


def room(name):
    """The room of a module: its first name below minitorch, where the order says something about it."""
    parts = name.split(".")
    if parts[1:3] == ["utils", "hooks"]:  # handles, which know nothing
        return "utils.hooks"
    return parts[1] if len(parts) > 1 and parts[0] == "minitorch" and parts[1] in ORDER else None


def test_torch_is_never_imported():
    guilty = [
        (name, found)
        for name, path in modules()
        if name not in REPORT
        for found in imported(name, path)
        if found.split(".")[0] == "torch"
    ]
    assert not guilty


def test_kernels_know_no_tensor():
    guilty = [
        (name, found)
        for name, path in modules()
        if name.startswith("minitorch.kernels")
        for found in imported(name, path)
        if found.startswith("minitorch") and not found.startswith("minitorch.kernels")
    ]
    assert not guilty


def test_imports_go_one_way():
    guilty = [
        (name, found)
        for name, path in modules()
        if (here := room(name)) is not None
        for found in imported(name, path, top_level_only=True)
        if (there := room(found)) is not None and ORDER.index(there) > ORDER.index(here)
    ]
    assert not guilty


@pytest.mark.parametrize("forbidden", ["torch", "matplotlib", "cupy", "scipy.stats", "numba"])
def test_importing_minitorch_stays_cheap(forbidden):
    code = f"import sys, minitorch; sys.exit({forbidden!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
