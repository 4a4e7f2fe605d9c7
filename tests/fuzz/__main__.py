"""Fuzz from the command line: `python -m fuzz --tables 1000 --models 1000`. `make fuzz` does."""

import argparse
import sys
from functools import partial
from pathlib import Path

from fuzz.kinds import KINDS
from fuzz.supervisor import complaint, emptied, fuzz


def main():
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    for name in KINDS:
        parser.add_argument(f"--{name}", type=int, default=0, help=f"how many {name} to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, help="with --number: the one case to try again")
    parser.add_argument("--number", type=int)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--folder", type=Path, default=Path("fuzz-failures"), help="where the files of failures stay")
    chosen = parser.parse_args()
    if (chosen.kind is None) is not (chosen.number is None):
        parser.error("--kind and --number go together")
    if chosen.kind is not None:
        wanted = {chosen.kind: [chosen.number]}
    else:
        wanted = {name: range(chosen.first, chosen.first + getattr(chosen, name)) for name in KINDS}
    failed = 0
    for name, numbers in wanted.items():
        if numbers:
            folder = emptied(chosen.folder / name)
            show = partial(_show, name, chosen.seed, folder, [])
            failed += len(fuzz(KINDS[name], seed=chosen.seed, numbers=numbers, folder=folder, tell=show).failed)
    sys.exit(min(failed, 1))


def _show(name, seed, folder, shown, tally):
    """Print the failures that were not printed yet, or how far it is."""
    new = [number for number in tally.failed if number not in shown]
    shown += new
    lines = [complaint(tally, number, name, seed, folder) for number in new]
    print(*(lines or [f"{name}: {tally}"]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
