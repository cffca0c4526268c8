"""Wrong versions of a function, made from its source: for the tests that ask whether the suite would notice.

A mutant is a code object; it is put in the place of the function's own (`installed`), wherever the function is held.
"""

import ast
import contextlib
import copy
import functools
import inspect
import types


@functools.cache
def _tree(path):
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read())


def source_of(function):
    """The syntax tree of a function or lambda, None for what is not written in Python. A function that was itself made
    by a program has no file: its tree is a call of it, so that its result at least can be broken."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    arguments = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    if code.co_filename.startswith("<"):
        names = ", ".join(arguments)
        return ast.parse(f"lambda {names}: _original({names})", mode="eval").body
    found = []
    for node in ast.walk(_tree(code.co_filename)):
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if line == code.co_firstlineno and names == arguments:
                found.append(node)
    if len(found) > 1:  # two lambdas with the same arguments on one line: by the columns of the code
        columns = {(line, start) for line, _, start, _ in code.co_positions() if start is not None}
        found = [
            n for n in found if isinstance(n, ast.Lambda) and (n.body.lineno, n.body.col_offset) in columns
        ] or found
    return found[0] if len(found) == 1 else None


def compiled(function, node):
    """The code object of the changed `node`, with the free variables of `function`."""
    free = function.__code__.co_freevars
    node = copy.deepcopy(node)
    used = [ast.Name(name, ast.Load()) for name in free]  # the mutant may need fewer; its code must have them all
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        node.name = "_changed"  # its own name stays the global one: what calls itself calls the function it is put into
        node.body = [*map(ast.Expr, used), *node.body]
        body = [node, ast.Return(ast.Name(node.name, ast.Load()))]
    else:
        if used:
            node.body = ast.Subscript(ast.Tuple([*used, node.body], ast.Load()), ast.Constant(-1), ast.Load())
        body = [ast.Return(node)]
    parameters = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in free], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    factory = ast.FunctionDef("factory", parameters, body, [], None, None)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    outer = next(c for c in compile(module, "<mutant>", "exec").co_consts if inspect.iscode(c))
    return next(c for c in outer.co_consts if inspect.iscode(c))


def results(node):
    """The expressions whose value the function gives: a lambda's body, the values after return; of tuples each item."""
    if isinstance(node, ast.Lambda):
        found = [node.body]
    else:
        inner = {
            id(n)
            for f in ast.walk(node)
            if f is not node and isinstance(f, ast.FunctionDef | ast.Lambda)
            for n in ast.walk(f)
        }
        found = [
            n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None and id(n) not in inner
        ]
    return [item for value in found for item in (value.elts if isinstance(value, ast.Tuple) else [value])]


def always_zero(node):
    """``grad * 0``, zeros, None: negated or doubled they are the same."""
    return (
        isinstance(node, ast.Constant)
        or (isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value == 0)
        or (isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("zeros_like", "zeros"))
    )


def replaced(root, target, new):
    """A copy of `root` with the node `target` replaced."""
    memo = {id(target): new}
    return copy.deepcopy(root, memo)


def mutants(node, constants=False):
    """Pairs (what was done, changed tree): results negated and doubled, terms and factors dropped, choices swapped;
    with `constants`, also each number doubled and negated."""
    number = {-1: ast.UnaryOp(ast.USub(), ast.Constant(1)), 2: ast.Constant(2)}
    for value in results(node):
        if not always_zero(value):
            for factor, word in ((-1, "negated"), (2, "doubled")):
                yield (
                    f"{ast.unparse(value)} {word}",
                    replaced(node, value, ast.BinOp(number[factor], ast.Mult(), value)),
                )
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and not always_zero(part):
            if isinstance(part.op, ast.Add | ast.Sub):
                # zeros give but a shape: what is added to them takes the same one where it is used
                for kept in (part.left,) if always_zero(part.left) else (part.left, part.right):
                    yield f"only {ast.unparse(kept)} of {ast.unparse(part)}", replaced(node, part, kept)
            elif isinstance(part.op, ast.Mult | ast.Div):
                yield f"only {ast.unparse(part.left)} of {ast.unparse(part)}", replaced(node, part, part.left)
        elif isinstance(part, ast.Call) and getattr(part.func, "id", "") == "where" and len(part.args) == 3:
            condition, yes, no = part.args
            yield f"{ast.unparse(part)} swapped", replaced(node, part, ast.Call(part.func, [condition, no, yes], []))
        elif constants and isinstance(part, ast.Constant) and type(part.value) in (int, float) and part.value:
            for factor, word in ((-1, "negated"), (2, "doubled")):
                yield f"{part.value} {word}", replaced(node, part, ast.Constant(part.value * factor))


@contextlib.contextmanager
def installed(functions, node):
    """Inside, these functions, which are of one text (a row made for each number of dimensions, say), behave as the
    changed `node` says.
    """
    function = functions[0]
    original, scope = function.__code__, function.__globals__
    scope["_original"] = types.FunctionType(original, scope, function.__name__, function.__defaults__,
                                            function.__closure__)
    changed = compiled(function, node)
    defaults = function.__defaults__
    for function in functions:
        function.__code__ = changed
    own = len(functions) == 1 and defaults is not None and len(node.args.defaults) == len(defaults)
    if own:  # its default numbers are not in its code
        given = zip(node.args.defaults, defaults, strict=True)
        function.__defaults__ = tuple(d.value if isinstance(d, ast.Constant) else old for d, old in given)
    try:
        yield
    finally:
        for function in functions:
            function.__code__ = original
        if own:
            function.__defaults__ = defaults
        del scope["_original"]
