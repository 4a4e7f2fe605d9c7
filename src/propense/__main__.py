"""`python -m propense` is the command `propense`."""

from propense.cli import main

if __name__ == "__main__":
    main()
