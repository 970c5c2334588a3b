"""The command line: options and exit statuses; the work is done in fixtures and check."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import usage
from .exact.profiles import PROFILES
from .ops import OPS

PROFILE_HELP = f"Only {', '.join(PROFILES)}; repeatable."
HELP = """Proven numbers for how a transformer knows where a token is.

\b
Build the fixtures, see that they are whole, and hold an implementation against them:
  refimpl build
  refimpl verify fixtures
  refimpl check --entry mypackage.adapter:run

\b
A first look at one op takes seconds:
  refimpl list cases --op rope
  refimpl check --entry mypackage.adapter:run --op rope --profile f32

\b
See what the encodings are like:
  refimpl plot

\b
Exit status:
  0  all is well: every case passes
  1  a case failed
  2  usage: an unknown command, option, op or profile
  3  fixture integrity: missing, changed, zero cases, unlike the recorded digests
  4  the implementation broke the protocol
"""

app = typer.Typer(
    help=HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)
out_console = Console(highlight=False)
err_console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)


class Format(StrEnum):
    """What a pack can be exported to."""

    npz = "npz"
    json = "json"
    c_header = "c-header"


class Table(StrEnum):
    """What can be listed."""

    ops = "ops"
    cases = "cases"
    conventions = "conventions"
    mistakes = "mistakes"


Op = Annotated[
    list[str] | None, typer.Option("--op", metavar="OP", callback=usage.ops, help="Only this op; repeatable.")
]


@app.command()
def build(
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, or an earlier pack.")] = Path("fixtures"),
    op: Op = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", callback=usage.jobs, help="Processes; default one a core.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only compare with the recorded digests.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Only record the digests (maintainers).")] = False,
) -> None:
    """Build the fixtures, or compare with the record.

    Every value is proven, every error bounded.

    \b
    refimpl build                         the whole pack, into ./fixtures
    refimpl build --op rope --out /tmp/r  the cases of one op
    refimpl build --check                 has any golden value changed? (exit status 3)
    """
    if record and (check or op):
        raise typer.BadParameter("it records the whole pack: not with --check or --op", param_hint="--record")
    with usage.statuses():
        from .fixtures.command import run_build, run_check, run_record

        if record:
            raise typer.Exit(run_record(jobs, out_console, err_console))
        if check:
            raise typer.Exit(run_check(op or [], jobs, out_console, err_console))
        raise typer.Exit(run_build(out, op or [], jobs, out_console, err_console))


@app.command()
def verify(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A pack.")]) -> None:
    """Verify that a pack is whole.

    Every digest, schema, count and tensor is compared.

    Names each file that is missing, changed or not listed; a pack of zero cases is an error (exit status 3).
    """
    with usage.statuses():
        from .fixtures.manifest import VERSION
        from .fixtures.verify import verify as verified

        counts = verified(folder)
        typer.echo(f"{counts['cases']} cases, {counts['files']} files: every digest, schema and tensor as described")
        typer.echo(", ".join(f"{op} {count}" for op, count in counts["ops"].items()))
        other = "" if counts["version"] == VERSION else f"; this refimpl builds {VERSION}"
        typer.echo(f"version {counts['version']} of the data{other}")
        if lacking := [op for op in counts["ops"] if op not in OPS]:
            typer.echo(f"this version of refimpl has no op {', '.join(lacking)}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A pack.")],
    format: Annotated[Format, typer.Option(metavar="npz|json|c-header", help="What to write.")],
    to: Annotated[Path, typer.Option(metavar="DIR", help="A new folder, or an earlier export.")],
    op: Op = None,
) -> None:
    """Export a pack for those who read neither safetensors nor Python.

    The pack is verified first; every bit is kept.

    \b
    npz       an .npz a case for NumPy, no pickle, its description beside it
    json      a .json a case, reals as hexadecimal text, its description inside
    c-header  a .h a case for C99 and C++17, and tables to loop over

    \b
    refimpl export fixtures --format c-header --to include/fixtures --op rope
    """
    with usage.statuses():
        from .fixtures.export import export as exported

        made = exported(folder, to, format.value, ops=op or [])
        typer.echo(f"{made.cases} cases, {made.files} files, {made.bytes:,} bytes in {to}")


@app.command()
def check(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND ARG ...", help="Gets --in REQ --out OUT.")
    ] = None,
    entry: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="run(op, params, inputs, want) -> arrays.")
    ] = None,
    fixtures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A pack; default one built for you, once.")
    ] = None,
    op: Op = None,
    profile: Annotated[list[str] | None, typer.Option(metavar="P", callback=usage.profiles, help=PROFILE_HELP)] = None,
    forward: Annotated[bool, typer.Option("--forward", help="Ask for outputs only, no gradients.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Suspicious results fail as well.")] = False,
    claims: Annotated[Path | None, typer.Option(metavar="FILE", help="What the implementation says it does.")] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="A case; --entry then runs apart. A command's default: 60.")
    ] = None,
    memory: Annotated[float | None, typer.Option(metavar="GIB", help="A process; --entry then runs apart.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report there too.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="The same, in JUnit's XML.")] = None,
    selftest: Annotated[bool, typer.Option("--selftest", help="Check the checker: wrong results must fail.")] = False,
) -> None:
    """Check an implementation, and name its bugs.

    Every case is compared within its proven tolerance.

    \b
    refimpl check --entry mypackage.adapter:run
    refimpl check --entry adapter:run --op attention --profile f32 --profile bf16 --strict
    refimpl check --op rope -- ./my_kernel --fast     any language: docs/checker.md
    """
    with usage.statuses():
        from .check.command import run_check
        from .check.options import Options

        options = Options(
            entry=entry,
            command=command or [],
            fixtures=fixtures,
            ops=op or [],
            profiles=profile or [],
            forward=forward,
            strict=strict,
            timeout=timeout,
            memory=memory,
            claims=claims,
            json=json,
            junit=junit,
            selftest=selftest,
        )
        raise typer.Exit(run_check(options, out_console))


@app.command()
def plot(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these figures; default all.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where pictures and pages go.")] = Path("plots/out"),
) -> None:
    """Draw the figures.

    Each as PNG and SVG, and pages that show those in DIR: index.html and README.md.

    \b
    refimpl plot                                   the whole gallery, into ./plots/out
    refimpl plot sinusoidal_heatmap --out slides   one figure
    """
    with usage.statuses():
        from .figures import load

        known = load("gallery").NAMES
        load("write").write(usage.known("NAME", names or known, known), out, typer.echo)


@app.command("list")
def list_(
    table: Annotated[Table, typer.Argument(metavar="ops|cases|conventions|mistakes")],
    op: Op = None,
    matrix: Annotated[bool, typer.Option("--matrix", help="Mistakes: which case catches which.")] = False,
    profile: Annotated[
        str | None, typer.Option(metavar="P", callback=usage.profile, help="With --matrix, the profile; default f32.")
    ] = None,
    fixtures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With --matrix, a pack; default one built for you, once.")
    ] = None,
) -> None:
    """List ops, cases, conventions or mistakes.

    One a line: its name, what it is, and why.

    \b
    ops    (array, [optional array]; required option, option=default) -> outputs;
           below, the measured properties of their encodings
    cases  the reason for each, and its options as JSON; absent ones have the default

    \b
    refimpl list ops --op rope
    refimpl list cases --op attention
    refimpl list mistakes | grep GRADIENT
    refimpl list mistakes --matrix --op rope
    """
    if matrix and table is not Table.mistakes:
        raise typer.BadParameter(f"there is none of {table.value}, only of mistakes", param_hint="--matrix")
    for option, value in (("--profile", profile), ("--fixtures", fixtures)):
        if value is not None and not matrix:
            raise typer.BadParameter("only with --matrix", param_hint=option)
    with usage.statuses():
        if matrix:
            from .check.cache import cached
            from .fixtures.kills import matrix_lines
            from .fixtures.read import read

            for line in matrix_lines(read(fixtures or cached(op or []), op or []), profile or "f32"):
                typer.echo(line)
            return
        from .fixtures.listing import property_lines, rows

        for row in rows(table.value, op or []):
            typer.echo("  ".join(row))
        if table is Table.ops:
            for line in property_lines(op or []):
                typer.echo(line)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except SystemExit as end:
        if "refimpl.check.load" in sys.modules:  # foreign code may have run in this process
            from .check.foreign import leave

            leave(int(end.code or 0))
        raise
