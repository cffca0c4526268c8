"""The coverage report: ``python -m minitorch.testing`` runs all of torch's ``op_db`` on minitorch (needs torch).

Per operator: samples passed of total, for the forward pass, the gradient, the second gradient, the other spellings
(method, operator, in-place, out=, aliases) and the error inputs; then the totals over all entries of the table, those
minitorch lacks included. Entries that torch does not take in the dtype asked for run in one that it takes. An entry is
whole when every forward, gradient and second-gradient sample passes, complete when all the rest does, too.
"""

import argparse
import html
import json
import multiprocessing
import os
import re
import sys
import time
from pathlib import Path

HEADINGS = {
    "forward": "forward",
    "gradient": "gradient",
    "second": "second gradient",
    "variants": "other spellings",
    "errors": "error inputs",
}


def arguments(argv=None):
    parser = argparse.ArgumentParser(prog="python -m minitorch.testing", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", metavar="PATTERN", help="entries whose name this regular expression matches")
    parser.add_argument("--names", metavar="A,B", help="exactly these entries")
    parser.add_argument("--dtype", default="float64", choices=("float64", "float32", "int64", "bool"))
    parser.add_argument("--limit", type=int, help="take at most this many of the table's samples per entry")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--failures", action="store_true", help="print what failed, in words")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--html", metavar="FILE")
    parser.add_argument("--lists", metavar="FOLDER", help="refresh whole.txt and complete.txt there (the suite's own)")
    return parser.parse_args(argv)


def check_one(job):
    from minitorch.testing import op_db

    name, dtype, limit = job
    return op_db.check(name, op_db.dtype_for(name, dtype), limit=limit)


def check_all(names, dtype, limit, processes):
    """A report per entry, in the table's order. Processes are forked: torch's tables are slow to import."""
    import torch

    torch.set_num_threads(1)
    jobs = [(name, dtype, limit) for name in names]
    if processes <= 1 or len(jobs) < 4:
        return [check_one(job) for job in jobs]
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=50) as pool:
        return list(pool.imap(check_one, jobs, chunksize=2))


def state(report):
    if report.whole:
        return "whole"
    if report.wrong:
        return "wrong"
    if any(outcome == "error" and stage != "errors" for stage, outcome, _, _ in report.failures):
        return "error"
    return "absent" if not report.passed("forward") else "partial"


def totals(reports):
    """The figures under the table, over all entries."""
    found = {
        "entries": len(reports),
        "whole": sum(r.whole for r in reports),
        "complete": sum(r.complete for r in reports),
    }
    for stage in HEADINGS:
        found[stage] = [sum(r.passed(stage) for r in reports), sum(r.total(stage) for r in reports)]
    found["wrong"] = sum(len(r.wrong) for r in reports)
    return found


def summary(reports):
    found = totals(reports)
    yield f"entries whole: {found['whole']} of {found['entries']}"
    yield f"whole, with all other spellings and error inputs: {found['complete']}"
    for stage, heading in HEADINGS.items():
        yield f"{heading}: {found[stage][0]} of {found[stage][1]}"
    yield f"samples with a wrong value: {found['wrong']}"


def rows(reports):
    for report in reports:
        cells = [f"{report.passed(s)}/{report.total(s)}" if report.total(s) else "-" for s in HEADINGS]
        yield [report.name, state(report), *cells]


def as_text(reports):
    width = max([len(r.name) for r in reports] + [8])
    lines = ["  ".join(["entry".ljust(width), "state  ", *(h.rjust(15) for h in HEADINGS.values())])]
    for name, condition, *cells in rows(reports):
        lines.append("  ".join([name.ljust(width), condition.ljust(7), *(c.rjust(15) for c in cells)]))
    return "\n".join([*lines, "", *summary(reports)])


def as_markdown(reports):
    lines = [
        *(f"- {line}" for line in summary(reports)),
        "",
        "| entry | state | " + " | ".join(HEADINGS.values()) + " |",
        "|---" * (2 + len(HEADINGS)) + "|",
    ]
    lines += ["| " + " | ".join([f"`{name}`", *rest]) + " |" for name, *rest in rows(reports)]
    return "\n".join(lines) + "\n"


def as_html(reports):
    colours = {"whole": "#dfd", "partial": "#ffd", "error": "#fed", "wrong": "#fbb", "absent": "#eee"}
    body = [
        "<!doctype html><meta charset=utf-8><title>minitorch and torch</title>",
        "<style>body{font:14px sans-serif} td,th{padding:2px 8px; text-align:right}</style>",
        "<ul>",
        *(f"<li>{html.escape(line)}" for line in summary(reports)),
        "</ul><table><tr>",
    ]
    body += [f"<th>{h}" for h in ("entry", "state", *HEADINGS.values())]
    for report, cells in zip(reports, rows(reports), strict=True):
        title = html.escape(
            "\n".join(f"{stage} {sample}: {message}" for stage, _, sample, message in report.failures[:5])
        )
        body.append(f'<tr style="background:{colours[cells[1]]}" title="{title}">')
        body += [f"<td>{html.escape(cell)}" for cell in cells]
    return "\n".join([*body, "</table>\n"])


def as_json(reports, dtype):
    entries = {
        r.name: {
            "state": state(r),
            "dtype": r.dtype,
            "seconds": round(r.seconds, 3),
            **{s: [r.passed(s), r.total(s)] for s in HEADINGS},
            "failures": [list(f) for f in r.failures[:20]],
        }
        for r in reports
    }
    return json.dumps({"dtype": dtype, "totals": totals(reports), "entries": entries}, indent=1) + "\n"


def main(argv=None):
    chosen = arguments(argv)
    try:
        from minitorch.testing import op_db
    except ModuleNotFoundError as error:
        sys.exit(f"the coverage report compares with torch, which is not installed here ({error}): pip install torch")
    names = list(op_db.ENTRIES)
    if chosen.names:
        names = chosen.names.split(",")
        if unknown := [name for name in names if name not in op_db.ENTRIES]:
            sys.exit(f"no such entries in torch's op_db: {', '.join(unknown)}")
    if chosen.only:
        names = [name for name in names if re.search(chosen.only, name)]
    start = time.perf_counter()
    reports = check_all(names, chosen.dtype, chosen.limit, chosen.processes)
    print(as_text(reports))
    print(f"{time.perf_counter() - start:.0f} s, {chosen.dtype}, {chosen.processes} processes")
    if chosen.failures:
        for report in reports:
            for stage, outcome, sample, message in report.failures:
                print(f"{report.name} {stage} {outcome}, {sample}: {message}")
    for path, text in (
        (chosen.markdown, as_markdown),
        (chosen.html, as_html),
        (chosen.json, lambda reports: as_json(reports, chosen.dtype)),
    ):
        if path:
            Path(path).write_text(text(reports), encoding="utf-8")
    if chosen.lists:
        for kind in ("whole", "complete"):
            names = [f"{r.name}\n" for r in reports if getattr(r, kind)]
            (Path(chosen.lists) / f"{kind}.txt").write_text("".join(names), encoding="utf-8")


if __name__ == "__main__":
    main()
