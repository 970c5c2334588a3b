"""One framework in a process of its own: results to a file, a line on the output for each case finished.

python -m conformance.worker FRAMEWORK RESULTS FIXTURES
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from conformance.measure import claims_of, measure
from refimpl.check.claims import require_in_pack
from refimpl.check.run import pairs
from refimpl.fixtures.read import read

NOT_INSTALLED = 69  # exit status


def main(framework: str, results: str, fixtures: str) -> int:
    try:
        adapter = importlib.import_module(f"conformance.{framework}")
    except ImportError as error:
        print(error, flush=True)
        return NOT_INSTALLED
    claims, pack = claims_of(framework), read(fixtures)
    chosen = pairs(pack.cases)
    require_in_pack(claims, [case.id for case in pack.cases], chosen, [])
    found = measure(adapter, claims, chosen, lambda n: print(n, flush=True), lambda: print(flush=True))
    about = " ".join((adapter.__doc__ or "").strip().split("\n\n")[0].split())
    version = getattr(adapter, "__version__", "").partition("+")[0]
    whole = {"version": version, "about": about, "results": [one._asdict() for one in found]}
    Path(results).write_text(json.dumps(whole), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
