"""The time to import propense, next to that of scikit-learn's linear models, which its estimators need at first use.

Run: ``python benchmarks/import_time.py`` (a few seconds).
"""

import subprocess
import sys
import time

MODULES = ("numpy", "sklearn.linear_model", "propense")


def fastest(module: str, repeats: int = 7) -> float:
    """Seconds to import a module in a new interpreter, without the interpreter's own start; the best of several."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return min(run(f"import {module}") for _ in range(repeats)) - min(run("pass") for _ in range(repeats))


def main() -> None:
    """One line per module."""
    seconds = {module: fastest(module) for module in MODULES}
    for module, taken in seconds.items():
        print(f"import {module:<22} {taken:.3f} s")
    print(f"propense / sklearn.linear_model: {seconds['propense'] / seconds['sklearn.linear_model']:.2f}")


if __name__ == "__main__":
    main()
