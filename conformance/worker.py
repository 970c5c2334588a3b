"""One framework in a process of its own: results to a file, a line on the output for each case finished.

python -m conformance.worker FRAMEWORK RESULTS [--fixtures DIR]
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from conformance.claims import read
from conformance.measure import claimed, measure
from refimpl.check.command import open_pack
from refimpl.check.run import pairs

NOT_INSTALLED = 69  # exit status


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.worker")
    parser.add_argument("framework")
    parser.add_argument("results", type=Path)
    parser.add_argument("--fixtures", type=Path)
    given = parser.parse_args()
    try:
        adapter = importlib.import_module(f"conformance.{given.framework}")
    except ImportError as error:
        print(error, flush=True)
        return NOT_INSTALLED
    claims, chosen = read(given.framework), pairs(open_pack(given.fixtures, []).cases)
    print(len(claimed(claims, chosen)), flush=True)
    found = []
    for one in measure(claims, adapter.run, chosen):
        found.append(one._asdict())
        print(one.id, flush=True)
    version = getattr(adapter, "__version__", claims.version)
    about = " ".join((adapter.__doc__ or "").strip().split("\n\n")[0].split())
    given.results.write_text(json.dumps({"version": version, "about": about, "results": found}), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
